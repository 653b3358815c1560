//! Style sheets within a page, as far as a rule of a simple selector hides, raises or lowers elements.
//!
//! Simple selectors name an element, classes and an id (`p.note`, `#menu`). Rules of other selectors, and those within `@media`
//! and the like, are not applied. A rule that hides is not applied either where another selector, or one of two classes, shows
//! an element of its class again: such elements are shown and hidden by turns, as tabs are.

use super::style::{Declared, Style};
use super::tokens::Tag;
use std::collections::HashSet;

/// Maximum rules that hide or raise; of those that do neither, and of other selectors, as many are kept.
const MAX_RULES: usize = 256;
/// Maximum bytes of the selectors of a rule, and of its declarations.
const MAX_BYTES: usize = 1024;
/// Maximum classes of a simple selector.
const MAX_CLASSES: usize = 4;

/// Elements that hold a page, which are hidden only until a script has run.
const WHOLE: &[&str] = &["html", "body", "main", "article"];

/// The rules of a page's style sheets so far.
#[derive(Default)]
pub(super) struct Sheet {
    rules: Vec<Rule>,
    /// Rules of other selectors, and of two classes, that do not hide.
    others: Vec<Other>,
    /// The sheet being read is not for the screen.
    unused: bool,
    /// No sheet is read.
    ignored: bool,
}

struct Rule {
    selector: Selector,
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
        let text = without_comments(text);
        let mut rest = text.as_str();
        while let Some(open) = rest.find('{') {
            let selectors = rest[..open].rsplit(';').next().unwrap_or_default().trim();
            let block = &rest[open + 1..];
            let length = end(block);
            if !selectors.starts_with('@') {
                self.rule(selectors, &block[..length]);
            }
            rest = block.get(length + 1..).unwrap_or_default();
        }
        self.rules.sort_by_key(|rule| rule.selector.weight());
        let others = &self.others;
        self.rules.iter_mut().for_each(|rule| rule.check(others));
    }

    fn rule(&mut self, selectors: &str, declarations: &str) {
        if selectors.len().max(declarations.len()) > MAX_BYTES {
            return;
        }
        let Some(declared) = Declared::read(declarations) else { return };
        let style = declared.style();
        let room =
            MAX_RULES.saturating_sub(self.rules.iter().filter(|rule| is_plain(rule.style) == is_plain(style)).count());
        let mut simple = Vec::new();
        for selector in selectors.split(',').map(within_page) {
            let names = Selector::simple(selector);
            let is_alone = names.as_ref().is_some_and(|selector| selector.classes.len() < 2);
            if !style.hides() && !is_alone && self.others.len() < MAX_RULES {
                self.others.push(Other { names: names_in(selector), declared });
            }
            simple.extend(names);
        }
        let rule = |selector| Rule { selector, declared, style, is_refused: false, checked: 0 };
        self.rules.extend(simple.into_iter().take(room).map(rule));
    }

    /// The declarations for an element, those of stronger rules over those of weaker ones.
    pub(super) fn of(&self, tag: &Tag) -> Declared {
        let mut declared = Declared::default();
        if self.rules.is_empty() {
            return declared;
        }
        let classes: HashSet<&str> = tag.value("class").into_iter().flat_map(str::split_whitespace).collect();
        let applies = |rule: &&Rule| rule.selector.matches(tag, &classes) && !Self::is_refused(rule, tag);
        self.rules.iter().filter(applies).for_each(|rule| declared.take(&rule.declared));
        declared
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

    /// Ids, then classes, then elements (Selectors, section 17).
    fn weight(&self) -> (bool, usize, bool) {
        (self.id.is_some(), self.classes.len(), self.element.is_some())
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
    use super::{Selector, Sheet, within_page};

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
