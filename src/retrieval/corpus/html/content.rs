//! Which blocks of a page are its content: the rules of readability (Mozilla) and boilerpipe (Kohlschütter et al. 2010) on
//! blocks in a row, without a tree.
//!
//! Elements, roles, and words of classes and ids say what a block belongs to ([`Region`]); its links say whether it is
//! a menu. The kept blocks must be large enough beside the dropped ones. Otherwise the weaker hints are ignored one
//! after the other, and in the end all of them: a page that is a table or a list of links is kept whole.

use super::region::Region;

/// Letters of a block that is prose. An ideograph counts as three.
const PROSE: usize = 60;

/// The part of a page that a text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Context {
    pub(super) region: Region,
    pub(super) in_link: bool,
    pub(super) in_table: bool,
    pub(super) in_button: bool,
}

/// A paragraph, a heading, an item of a list or a row of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    start: u32,
    letters: u32,
    /// Letters within links, and within buttons.
    linked: u32,
    pressed: u32,
    region: Region,
    in_table: bool,
}

impl Block {
    pub(super) fn new(start: usize, context: Context) -> Self {
        let start = u32::try_from(start).unwrap_or(u32::MAX);
        Self { start, letters: 0, linked: 0, pressed: 0, region: context.region, in_table: context.in_table }
    }

    /// First byte in the text.
    pub(super) fn start(&self) -> usize {
        self.start as usize
    }

    /// Whether text of `context` continues the block.
    pub(super) fn takes(&self, context: Context) -> bool {
        self.region == context.region
    }

    pub(super) fn count(&mut self, word: &str, context: Context) {
        let letters: u32 = word.chars().map(|c| if c < '\u{2e80}' { 1 } else { 3 }).sum();
        self.letters += letters;
        self.linked += if context.in_link { letters } else { 0 };
        self.pressed += if context.in_button { letters } else { 0 };
    }

    /// Hardly anything but links or buttons.
    fn is_menu(&self) -> bool {
        !self.in_table && 3 * (self.linked + self.pressed) >= 2 * self.letters
    }

    fn is_content(&self) -> bool {
        2 * self.linked < self.letters && (self.in_table || self.letters as usize >= PROSE)
    }

    fn has_button(&self) -> bool {
        self.pressed > 0
    }

    /// Whether hints of `regions` leave it out.
    fn is_aside(&self, regions: Region) -> bool {
        let hints = self.region.and(regions);
        hints.has(Region::NAVIGATION)
            || hints.has(Region::ASIDE)
            || hints.has(Region::BOILERPLATE)
            || hints.has(Region::DOUBTFUL)
            || (hints.has(Region::MENU) && 2 * (self.linked + self.pressed) >= self.letters)
    }
}

/// Hints in use, the strongest set first; each next one ignores the weakest hints of the one before.
const LEVELS: &[Region] = &[
    Region::of(&[Region::NAVIGATION, Region::ASIDE, Region::BOILERPLATE, Region::MENU, Region::DOUBTFUL]),
    Region::of(&[Region::NAVIGATION, Region::ASIDE, Region::BOILERPLATE, Region::MENU]),
    Region::of(&[Region::NAVIGATION, Region::ASIDE]),
    Region::NAVIGATION,
];

/// Marks blocks outside navigation elements; marks all if every block is inside one.
pub(super) fn without_navigation(blocks: &[Block]) -> Vec<bool> {
    let kept: Vec<bool> = blocks.iter().map(|block| !block.is_aside(Region::NAVIGATION)).collect();
    if kept.contains(&true) { kept } else { vec![true; blocks.len()] }
}

/// For each block of `text` whether it is content.
pub(super) fn kept(blocks: &[Block], text: &str) -> Vec<bool> {
    for hints in LEVELS {
        let kept = within(blocks, text, *hints);
        let (inside, outside) = (letters(blocks, &kept), letters(blocks, &inverse(&kept)));
        // Comments, side bars and the like may be all that a page has.
        let doubtful = blocks.iter().filter(|block| block.is_aside(hints.and(Region::DOUBTFUL)));
        let doubtful: usize = doubtful.map(|block| block.letters as usize).sum();
        if is_enough(inside, outside) && doubtful <= 2 * inside {
            return kept;
        }
    }
    vec![true; blocks.len()]
}

/// Whether a part is not small: as long as prose, or a quarter of what is left out.
fn is_enough(inside: usize, outside: usize) -> bool {
    inside > 0 && (inside >= PROSE || 4 * inside >= outside)
}

/// The blocks that no hint leaves out; of these the main part, where the page has one.
fn within(blocks: &[Block], text: &str, hints: Region) -> Vec<bool> {
    let mut kept: Vec<bool> = blocks.iter().map(|block| !block.is_aside(hints)).collect();
    for (main, share) in [(Region::MAIN, 10), (Region::ARTICLE, 3)] {
        let part: Vec<bool> = kept.iter().zip(blocks).map(|(kept, block)| *kept && block.region.has(main)).collect();
        let (inside, all) = (letters(blocks, &part), letters(blocks, &kept));
        if inside > 0 && share * inside >= all {
            return part;
        }
    }
    drop_consent(blocks, text, &mut kept);
    drop_menus(blocks, &mut kept);
    kept
}

/// Leaves out lists of links before the first and behind the last block of content, unless they are most of the page.
fn drop_menus(blocks: &[Block], kept: &mut [bool]) {
    let content = |number: &usize| kept[*number] && blocks[*number].is_content();
    let (first, last) = ((0..blocks.len()).find(content), (0..blocks.len()).rfind(content));
    let Some((first, last)) = first.zip(last) else { return };
    let outside = (0..first).chain(last + 1..blocks.len());
    let menus: Vec<usize> = outside.filter(|number| kept[*number] && blocks[*number].is_menu()).collect();
    let dropped: usize = menus.iter().map(|number| blocks[*number].letters as usize).sum();
    if dropped <= 3 * (letters(blocks, kept) - dropped) {
        menus.into_iter().for_each(|number| kept[number] = false);
    }
}

/// Leaves out notices about cookies: a short block that names them, and the buttons behind it.
fn drop_consent(blocks: &[Block], text: &str, kept: &mut [bool]) {
    const NOTICE: u32 = 10 * PROSE as u32;
    for number in 0..blocks.len() {
        let next = blocks.get(number + 1);
        let near_button = blocks[number].has_button() || next.is_some_and(Block::has_button);
        if !near_button || blocks[number].letters > NOTICE {
            continue;
        }
        let range = blocks[number].start()..next.map_or(text.len(), Block::start);
        if !text[range].to_lowercase().contains("cookie") {
            continue;
        }
        kept[number] = false;
        let buttons = (number + 1..blocks.len()).take_while(|next| blocks[*next].has_button());
        buttons.for_each(|next| kept[next] = false);
    }
}

fn letters(blocks: &[Block], kept: &[bool]) -> usize {
    blocks.iter().zip(kept).filter(|(_, kept)| **kept).map(|(block, _)| block.letters as usize).sum()
}

fn inverse(kept: &[bool]) -> Vec<bool> {
    kept.iter().map(|kept| !kept).collect()
}
