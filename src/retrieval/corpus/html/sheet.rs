//! Style sheets within a page, as far as a rule of a simple selector hides, raises or lowers elements.
//!
//! Simple selectors name an element, classes and an id (`p.note`, `#menu`). They may be within elements of such selectors
//! (`.notes p`, `.notes > p`), whose order is not looked at. Rules of other selectors are not applied, nor those within
//! `@media` but for the screen. A rule that hides is not applied either where another selector, or one of two classes, shows an
//! element of its class again: such elements are shown and hidden by turns, as tabs are.

use super::style::{Declared, Style};
use super::tokens::Tag;
use std::collections::HashSet;

/// Maximum rules that hide or raise; of those that do neither, and of other selectors, as many are kept.
const MAX_RULES: usize = 256;
/// Maximum bytes of the selectors of a rule, and of its declarations.
const MAX_BYTES: usize = 1024;
/// Maximum classes of a simple selector.
const MAX_CLASSES: usize = 4;
/// Maximum selectors of elements that others are within: they are counted in a word's bits.
const MAX_AROUND: usize = u64::BITS as usize;
/// Selectors that always hold: no element has focus, hover or activation.
const NEVER: [&str; 5] =
    [":not(:focus)", ":not(:focus-within)", ":not(:focus-visible)", ":not(:active)", ":not(:hover)"];

/// Elements that hold a page, which are hidden only until a script has run.
const WHOLE: &[&str] = &["html", "body", "main", "article"];

/// The rules of a page's style sheets so far.
#[derive(Default)]
pub(super) struct Sheet {
    rules: Vec<Rule>,
    /// Rules of other selectors, and of two classes, that do not hide.
    others: Vec<Other>,
    /// Selectors of elements that those of rules are within.
    around: Vec<Selector>,
    /// The sheet being read is not for the screen.
    unused: bool,
    /// No sheet is read.
    ignored: bool,
}

/// Which selectors of [`Sheet::around`] an element has, as bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Its own.
    pub(super) own: u64,
    /// And those of the elements around it.
    pub(super) all: u64,
}

struct Rule {
    selector: Selector,
    /// Bits of [`Sheet::around`] that the elements around it have, and that the nearest one has.
    within: u64,
    parent: u64,
    /// Ids, then classes, then elements of all its parts (Selectors, section 17).
    weight: [usize; 3],
    declared: Declared,
    style: Style,
    /// Another rule shows what this one hides.
    is_refused: bool,
    /// Others that were looked at for that.
    checked: usize,
}

/// A rule that does not hide, by the names of classes, ids and elements in its selector.
struct Other {
    names: Vec<String>,
    declared: Declared,
}

/// A simple selector: the parts that it states.
#[derive(Debug, Default, PartialEq, Eq)]
struct Selector {
    element: Option<String>,
    id: Option<String>,
    classes: Vec<String>,
}

impl Sheet {
    /// Reads no style sheet.
    pub(super) fn ignored() -> Self {
        Self { unused: true, ignored: true, ..Self::default() }
    }

    /// Begins a `style` element for these media.
    pub(super) fn begin(&mut self, media: Option<&str>) {
        self.unused =
            self.ignored || media.is_some_and(|media| !["screen", "all"].iter().any(|known| media.contains(known)));
    }

    /// Takes the rules of a `style` element.
    pub(super) fn read(&mut self, text: &str) {
        if self.unused {
            return;
        }
        self.blocks(&without_comments(text), true);
        // The sort is stable: of equal weights the later rule counts, as in CSS.
        self.rules.sort_by_key(|rule| rule.weight);
        let others = &self.others;
        self.rules.iter_mut().for_each(|rule| rule.check(others));
    }

    fn blocks(&mut self, text: &str, is_outermost: bool) {
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            // `@import` and `@charset` end with a semicolon and have no block.
            let selectors = rest[..open].rsplit(';').next().unwrap_or_default().trim();
            let block = &rest[open + 1..];
            let length = end(block);
            if !selectors.starts_with('@') {
                self.rule(selectors, &block[..length]);
            } else if is_outermost && is_for_screen(selectors) {
                self.blocks(&block[..length], false);
            }
            rest = block.get(length + 1..).unwrap_or_default();
        }
    }

    fn rule(&mut self, selectors: &str, declarations: &str) {
        if selectors.len().max(declarations.len()) > MAX_BYTES {
            return;
        }
        let Some(declared) = Declared::read(declarations) else { return };
        let style = declared.style();
        let room =
            MAX_RULES.saturating_sub(self.rules.iter().filter(|rule| is_plain(rule.style) == is_plain(style)).count());
        let mut rules = Vec::new();
        for selector in selectors.split(',').map(within_page) {
            let parts = parts(selector);
            let is_alone = parts.as_ref().is_some_and(|(around, last)| around.is_empty() && last.classes.len() < 2);
            if !style.hides() && !is_alone && self.others.len() < MAX_RULES {
                self.others.push(Other { names: names_in(selector), declared });
            }
            let rule = parts.filter(|_| rules.len() < room).and_then(|(around, last)| self.within(around, last));
            rules.extend(rule.map(|rule| Rule { declared, style, ..rule }));
        }
        self.rules.extend(rules);
    }

    /// A rule for elements of `selector` within those of `around`, of which some are parents; `None` where there are too many.
    fn within(&mut self, around: Vec<(Selector, bool)>, selector: Selector) -> Option<Rule> {
        let (mut weight, mut within, mut parent) = (selector.weight(), 0, 0);
        for (outer, is_parent) in around {
            weight = [0, 1, 2].map(|at| weight[at] + outer.weight()[at]);
            let known = self.around.iter().position(|known| *known == outer);
            let at = known.unwrap_or(self.around.len());
            if at >= MAX_AROUND {
                return None;
            }
            if known.is_none() {
                self.around.push(outer);
            }
            within |= 1 << at;
            parent |= u64::from(is_parent) << at;
        }
        let (declared, style) = (Declared::default(), Style::default());
        Some(Rule { selector, within, parent, weight, declared, style, is_refused: false, checked: 0 })
    }

    /// The declarations for an element within others of these marks, those of stronger rules over those of weaker ones; and its
    /// own marks.
    pub(super) fn of(&self, tag: &Tag, around: Marks) -> (Declared, u64) {
        let mut declared = Declared::default();
        if self.rules.is_empty() {
            return (declared, 0);
        }
        let classes: HashSet<&str> = tag.value("class").into_iter().flat_map(str::split_whitespace).collect();
        let is_within = |rule: &Rule| rule.within & !around.all == 0 && rule.parent & !around.own == 0;
        let applies =
            |rule: &&Rule| is_within(rule) && rule.selector.matches(tag, &classes) && !Self::is_refused(rule, tag);
        self.rules.iter().filter(applies).for_each(|rule| declared.take(&rule.declared));
        let marked = self.around.iter().enumerate().filter(|(_, selector)| selector.matches(tag, &classes));
        (declared, marked.map(|(at, _)| 1 << at).sum())
    }

    /// Whether a rule would hide what is shown at times.
    fn is_refused(rule: &Rule, tag: &Tag) -> bool {
        rule.is_refused || (rule.style.hides() && WHOLE.contains(&tag.name.as_str()))
    }
}

/// Whether a style does nothing but end that of another rule.
fn is_plain(style: Style) -> bool {
    !style.hides() && style.level.is_none()
}

impl Rule {
    /// Looks for another rule that shows what this one hides.
    fn check(&mut self, others: &[Other]) {
        if self.style.hides() && !self.is_refused {
            let shows = |other: &Other| {
                let mut declared = self.declared;
                declared.take(&other.declared);
                !declared.style().hides()
            };
            let new = &others[self.checked..];
            self.is_refused = new.iter().any(|other| self.selector.shares(&other.names) && shows(other));
            self.checked = others.len();
        }
    }
}

impl Selector {
    /// A selector of names alone: no pseudo-class, attribute or combinator.
    fn simple(text: &str) -> Option<Self> {
        let named = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        let mut rest = text;
        let mut selector = Self::default();
        while let Some(first) = rest.chars().next() {
            let name = rest.strip_prefix(['.', '#']).unwrap_or(rest);
            let length = name.find(|c| !named(c)).unwrap_or(name.len());
            if length == 0 {
                return None;
            }
            let (name, more) = name.split_at(length);
            match first {
                '.' => selector.classes.push(name.to_owned()),
                '#' => selector.id = Some(name.to_owned()),
                _ => selector.element = Some(name.to_ascii_lowercase()),
            }
            rest = more;
        }
        (!text.is_empty() && selector.classes.len() <= MAX_CLASSES).then_some(selector)
    }

    fn weight(&self) -> [usize; 3] {
        [usize::from(self.id.is_some()), self.classes.len(), usize::from(self.element.is_some())]
    }

    /// Whether the selector is one of this tag, which is of these classes.
    fn matches(&self, tag: &Tag, classes: &HashSet<&str>) -> bool {
        self.element.as_ref().is_none_or(|element| *element == tag.name)
            && self.id.as_ref().is_none_or(|id| tag.value("id") == Some(id.as_str()))
            && self.classes.iter().all(|class| classes.contains(class.as_str()))
    }

    fn shares(&self, names: &[String]) -> bool {
        self.classes.iter().chain(&self.id).chain(&self.element).any(|name| names.contains(name))
    }
}

/// A selector without the elements around the whole page, which all others are within.
fn within_page(selector: &str) -> &str {
    let mut rest = selector.trim();
    while let Some((first, more)) = rest.split_once(char::is_whitespace) {
        if !["html", "body", ":root"].contains(&first) || more.trim_start().starts_with(['>', '+', '~']) {
            break;
        }
        rest = more.trim_start();
    }
    rest
}

/// The selectors of the elements around that of the last part, each with whether it is the parent; `None` where one is not simple.
fn parts(text: &str) -> Option<(Vec<(Selector, bool)>, Selector)> {
    let text = NEVER.iter().fold(text.to_owned(), |text, never| text.replace(never, ""));
    let text = text.replace('>', " > ");
    let mut words = text.split_whitespace().rev();
    let last = Selector::simple(words.next()?)?;
    let mut around = Vec::new();
    let mut is_parent = false;
    for word in words {
        if word == ">" {
            // Marks know the nearest element around: farther out `>` is taken for any element around.
            is_parent = around.is_empty();
        } else {
            around.push((Selector::simple(word)?, std::mem::take(&mut is_parent)));
        }
    }
    Some((around, last))
}

/// Whether the rules of an `@` block are for every screen: no condition on its width or height, which most are about.
fn is_for_screen(rule: &str) -> bool {
    let (name, condition) = rule.split_once(|c: char| c.is_whitespace() || c == '(').unwrap_or((rule, ""));
    match name.to_ascii_lowercase().as_str() {
        "@media" => {
            let media = condition.split(',').map(|media| media.trim().to_ascii_lowercase());
            media.into_iter().any(|media| ["all", "screen", "only screen"].contains(&media.as_str()))
        }
        "@layer" => true,
        "@supports" => !condition.trim_start().starts_with("not"),
        _ => false,
    }
}

/// The names in a selector of any kind.
fn names_in(selector: &str) -> Vec<String> {
    let parts = selector.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_')));
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Bytes up to the brace that closes a block, which may hold others.
fn end(block: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in block.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return at,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    block.len()
}

/// `text` without comments, and without the marks of an HTML comment around it, which CSS ignores.
fn without_comments(text: &str) -> String {
    let text = text.replace("<!--", " ").replace("-->", " ");
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once("*/").map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::{Selector, Sheet, is_for_screen, parts, within_page};

    #[test]
    fn selectors_of_names_are_simple() {
        let simple = |text| Selector::simple(text);
        let found = simple("P.note.small#a").unwrap();
        assert_eq!((found.element.as_deref(), found.id.as_deref()), (Some("p"), Some("a")));
        assert_eq!(found.classes, ["note", "small"]);
        for other in ["", "*", ".a .b", "p>b", "a:hover", "[hidden]", ".", "p..a", "@media"] {
            assert_eq!(simple(other), None, "{other}");
        }
    }

    #[test]
    fn selectors_within_others_have_parts() {
        let found = |text| {
            parts(text).map(|(around, last)| (around.len(), around.iter().any(|(_, is)| *is), last.classes.len()))
        };
        assert_eq!(found(".a .b"), Some((1, false, 1)));
        assert_eq!(found("div.a>p .b:not(:focus)"), Some((2, false, 1)));
        assert_eq!(found("div p>.b.c"), Some((2, true, 2)));
        for other in ["", ">", "* p", ".a + .b", "li:nth-child(2)", "[a] .b"] {
            assert_eq!(found(other), None, "{other}");
        }
        assert!(is_for_screen("@media screen") && is_for_screen("@media print, screen") && is_for_screen("@layer a"));
        assert!(!is_for_screen("@media (max-width: 9em)") && !is_for_screen("@media screen and (width)"));
        assert!(is_for_screen("@supports (display:grid)") && !is_for_screen("@supports not (a:b)"));
    }

    #[test]
    fn elements_around_the_page_say_nothing_in_a_selector() {
        for (selector, expected) in
            [(" html  body p.a ", "p.a"), ("body > p", "body > p"), ("body", "body"), (".a p", ".a p")]
        {
            assert_eq!(within_page(selector), expected);
        }
    }

    #[test]
    fn rules_that_say_nothing_of_visibility_are_not_kept() {
        let mut sheet = Sheet::default();
        sheet.read(
            "/* .x{ */ @import 'a'; p{color:red} .a,.b{display:none} @media print{.c{display:none}} .d{opacity:0",
        );
        let kept: Vec<_> = sheet.rules.iter().map(|rule| rule.selector.classes.concat()).collect();
        assert_eq!(kept, ["a", "b", "d"]);
    }
}
