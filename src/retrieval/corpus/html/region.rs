//! Hints of an element about its content: the main part of a page, or something beside it.

use super::tokens::Tag;

/// A set of hints, those of all enclosing elements together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Region(u8);

/// Words of classes and ids of parts that are left out.
#[rustfmt::skip]
const BOILERPLATE: &[&str] = &[
    "ads", "adsense", "advert", "advertisement", "breadcrumb", "breadcrumbs", "catlinks", "ccpa", "consent", "editsection", "footer",
    "gdpr", "newsletter", "noprint", "onetrust", "printfooter", "skip", "skiplink", "sponsored",
];

/// Words of parts that are left out as far as they are links or buttons.
#[rustfmt::skip]
const MENUS: &[&str] = &[
    "header", "links", "masthead", "menu", "nav", "navbar", "navbox", "navigation", "pager", "pagination", "popular", "recommended",
    "related", "share", "sharing", "sidebar", "social", "subscribe", "tags", "toc", "toolbar", "trending",
];

/// Words of parts that may hold the content of the page too.
#[rustfmt::skip]
const DOUBTFUL: &[&str] = &[
    "banner", "comment", "comments", "disqus", "modal", "overlay", "popup", "promo", "related", "sidebar", "widget",
];

/// Words that refute doubtful ones, as in "has-sidebar" and "article-with-comments".
const CONTENT: &[&str] =
    &["and", "article", "body", "column", "container", "content", "has", "layout", "main", "with", "wrapper"];

/// Words beside "cookie" in the names of notices; a page may be about cookies.
#[rustfmt::skip]
const NOTICES: &[&str] = &[
    "alert", "banner", "bar", "box", "compliance", "container", "dialog", "disclaimer", "info", "law", "message", "modal", "notice",
    "notification", "overlay", "policy", "popup", "wrapper",
];

/// Elements whose classes and ids say nothing about the page: it as a whole, and parts of tables and headings.
#[rustfmt::skip]
const NAMELESS: &[&str] = &[
    "a", "article", "body", "caption", "h1", "h2", "h3", "h4", "h5", "h6", "html", "main", "table", "tbody", "td", "tfoot", "th", "thead", "tr",
];

impl Region {
    /// The main part.
    pub(super) const MAIN: Self = Self(1);
    /// An article, which may be a teaser or a comment.
    pub(super) const ARTICLE: Self = Self(2);
    /// Links to other pages, by element or role.
    pub(super) const NAVIGATION: Self = Self(4);
    /// Beside the main part, by element or role.
    pub(super) const ASIDE: Self = Self(8);
    /// By [`BOILERPLATE`].
    pub(super) const BOILERPLATE: Self = Self(16);
    /// By [`MENUS`].
    pub(super) const MENU: Self = Self(32);
    /// By [`DOUBTFUL`].
    pub(super) const DOUBTFUL: Self = Self(64);

    pub(super) const fn of(hints: &[Self]) -> Self {
        let (mut all, mut at) = (0, 0);
        // A const function has no `for`.
        while at < hints.len() {
            all |= hints[at].0;
            at += 1;
        }
        Self(all)
    }

    pub(super) fn has(self, hint: Self) -> bool {
        self.0 & hint.0 != 0
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn with(self, hint: Self) -> Self {
        Self(self.0 | hint.0)
    }

    /// The region of an element of this region.
    pub(super) fn within(self, tag: &Tag) -> Self {
        let role = |words: &[&str]| tag.says("role", words);
        let inside = self.has(Self::MAIN) || self.has(Self::ARTICLE);
        match tag.name.as_str() {
            // Whatever the elements around it are called.
            _ if tag.name == "main" || role(&["main"]) => Self::MAIN.with(self.and(Self::ARTICLE)),
            _ if tag.name == "article" || role(&["article"]) || tag.says("itemprop", &["articlebody"]) => {
                self.with(Self::ARTICLE)
            }
            _ if tag.name == "nav" || role(&["navigation", "menu", "menubar"]) => self.with(Self::NAVIGATION),
            _ if role(&["dialog", "alertdialog", "search"]) => self.with(Self::ASIDE),
            "aside" | "footer" if !inside => self.with(Self::ASIDE),
            _ if !inside && role(&["complementary", "contentinfo"]) => self.with(Self::ASIDE),
            _ if !inside && (tag.name == "header" || role(&["banner"])) => self.with(Self::MENU),
            name if NAMELESS.contains(&name) => self,
            _ => self.with(named(tag)),
        }
    }
}

/// The hints of the class and the id of an element.
fn named(tag: &Tag) -> Region {
    let names = ["class", "id"].iter().filter_map(|key| tag.value(key)).flat_map(str::split_whitespace);
    names.fold(Region::default(), |region, name| region.with(by_words(&words(name))))
}

fn by_words(words: &[String]) -> Region {
    let any = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    let cookies = words.iter().any(|word| word.starts_with("cookie"));
    let notice = cookies && (words.len() == 1 || any(NOTICES));
    let mut region = Region::default();
    if notice || any(BOILERPLATE) {
        region = region.with(Region::BOILERPLATE);
    }
    if any(MENUS) {
        region = region.with(Region::MENU);
    }
    if any(DOUBTFUL) && !any(CONTENT) {
        region = region.with(Region::DOUBTFUL);
    }
    region
}

/// The words of "site-Footer_top" or "siteFooter" in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let begins = c.is_uppercase() && before.is_lowercase();
        before = c;
        match words.last_mut() {
            Some(word) if c.is_alphanumeric() && !begins => word.extend(c.to_lowercase()),
            _ if c.is_alphanumeric() => words.push(c.to_lowercase().collect()),
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::{Region, by_words, words};

    #[test]
    fn names_of_elements() {
        for (name, expected) in [
            ("cookie-banner", Region::of(&[Region::BOILERPLATE, Region::DOUBTFUL])),
            ("CookieConsent", Region::BOILERPLATE),
            ("cookie-recipe", Region::default()),
            ("siteFooter", Region::BOILERPLATE),
            ("main-menu", Region::MENU),
            ("monument", Region::default()),
            ("has-sidebar", Region::MENU),
            ("comments", Region::DOUBTFUL),
            ("article-with-comments", Region::default()),
            ("", Region::default()),
        ] {
            assert_eq!(by_words(&words(name)), expected, "{name}");
        }
    }
}
