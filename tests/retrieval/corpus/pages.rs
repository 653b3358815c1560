//! The content of web pages of several shapes.

use super::one;

const ARTICLE: &str = "<h1>The mill of Orrin</h1><p>The mill of Orrin was built in 1788 by the brothers Sand, and burned down in 1903.</p>\
    <p>It was never rebuilt.</p>";
const TEXT: &str = "The mill of Orrin\n\nThe mill of Orrin was built in 1788 by the brothers Sand, and burned down in 1903.\n\n\
    It was never rebuilt.";

fn text(body: &str) -> String {
    let page = format!("<!doctype html><html><head><title>T</title></head><body>{body}</body></html>");
    one("a.html", page.as_bytes()).unwrap()[0].text.clone()
}

#[test]
fn elements_and_roles_name_the_content() {
    let menu = "<nav><a href=/>Home</a> <a href=/m>Mills</a></nav>";
    for page in [
        format!(
            "{menu}<main>{ARTICLE}</main><footer>Printed by the council of Orrin in the year 2020, all rights reserved.</footer>"
        ),
        format!(
            "<header><a href=/>Orrin Times</a> <a href=/s>Subscribe</a></header><article>{ARTICLE}</article><div>Terms of use</div>"
        ),
        format!(
            "<div role=banner><a href=/>Orrin</a></div><div role=main>{ARTICLE}</div><div role=contentinfo>Imprint</div>"
        ),
        format!("<div>We value your privacy and use many partners.</div><div itemprop=articleBody>{ARTICLE}</div>"),
        format!("<main>{ARTICLE}<nav>Next: <a href=/2>The bridge of Orrin</a></nav></main>"),
        format!("<div class=page-with-footer>{menu}<main>{ARTICLE}</main></div>"),
    ] {
        assert_eq!(text(&page), TEXT, "{page}");
    }
}

#[test]
fn words_of_classes_and_ids_mark_elements_without_content() {
    for beside in [
        "<div id=\"cookie-banner\"><p>We use cookies to improve your experience on this site of ours.</p><button>Accept all</button></div>",
        "<div class=\"gdprConsent\">This site stores data on your device, with partners in many countries.</div>",
        "<ul class=breadcrumbs><li><a href=/>Home</a><li>Mills</ul>",
        "<div class=site-footer>All rights reserved by the council, 2020. Printed in Orrin.</div>",
        "<div class=sidebar><a href=/1>The bridge</a> <a href=/2>The ferry</a></div>",
        "<div id=comments><p>Anna: I think that it was built in 1790, as my uncle said.</p></div>",
        "<a class=skip-link href=#main>Skip to content</a>",
        "<div class=\"newsletter box\">Get the news of Orrin every morning by letter.</div>",
    ] {
        assert_eq!(text(&format!("{beside}<div>{ARTICLE}</div>")), TEXT, "{beside}");
        assert_eq!(text(&format!("<div>{ARTICLE}</div>{beside}")), TEXT, "{beside}");
    }
}

#[test]
fn of_divs_alone_links_at_the_ends_are_left_out() {
    let links = "<div><a href=/>Home</a></div><div><a href=/m>Mills</a> | <a href=/b>Bridges</a></div>";
    assert_eq!(text(&format!("{links}<div>{ARTICLE}</div><div><a href=/i>Imprint</a></div>")), TEXT);
    let notice = "<div>This site uses cookies to measure its visitors.</div><div><button>Agree</button> <button>Settings</button></div>";
    assert_eq!(text(&format!("<div>{ARTICLE}</div>{notice}")), TEXT);
    let between = format!("<div>{ARTICLE}</div><p><a href=/b>The bridge of Orrin</a></p><div>{ARTICLE}</div>");
    assert!(text(&between).contains("The bridge of Orrin"));
}

#[test]
fn a_page_without_other_text_is_kept_whole() {
    for (page, expected) in [
        (
            "<table><tr><th>Year<th>Mill<tr><td><a href=/o>1788</a><td><a href=/o>Orrin</a></table>",
            "Year Mill\n\n1788 Orrin",
        ),
        ("<ul><li><a href=/o>Orrin</a><li><a href=/d>Dornes</a></ul>", "Orrin\n\nDornes"),
        ("<nav><a href=/o>Orrin</a> <a href=/d>Dornes</a></nav>", "Orrin Dornes"),
        (
            "<div class=comments><p>Anna: It was built in 1790.<p>Ben: No, in 1788.</div>",
            "Anna: It was built in 1790.\n\nBen: No, in 1788.",
        ),
        ("<div class=footer><p>Orrin Mill, built 1788.</div>", "Orrin Mill, built 1788."),
        (
            "<header><h1>Orrin Mill</h1><p>Built in 1788 by the brothers Sand.</header><p>It is closed.",
            "Orrin Mill\n\nBuilt in 1788 by the brothers Sand.\n\nIt is closed.",
        ),
        (
            "<main>Loading</main><div><p>The mill of Orrin was built in 1788 by the brothers Sand, and burned down in 1903.</div>",
            "Loading\n\nThe mill of Orrin was built in 1788 by the brothers Sand, and burned down in 1903.",
        ),
        (
            "<div class=cookie-recipes><h2>Oat biscuits</h2><p>Cookies need flour, oats and half an hour of time.</div>",
            "Oat biscuits\n\nCookies need flour, oats and half an hour of time.",
        ),
    ] {
        assert_eq!(text(page), expected, "{page}");
    }
    let forum = format!(
        "<h1>Which year?</h1><div id=comments>{}</div>",
        "<p>It was in 1788, as the register says, and not later.</p>".repeat(9)
    );
    assert_eq!(text(&forum).matches("1788").count(), 9);
}

#[test]
fn positions_of_kept_text_are_exact() {
    let page = format!(
        "<nav><a href=/>Home \u{e9}</a></nav><div class=cookie-bar>We use cookies</div><main>{ARTICLE}</main><footer>End</footer>"
    );
    let characters: Vec<char> = page.chars().collect();
    for passage in super::passages("a.html", &page, 6, 0) {
        let range = passage.origin.characters.start as usize..passage.origin.characters.end as usize;
        let markup: String = characters[range].iter().collect();
        let words: Vec<&str> = passage.text.split_whitespace().collect();
        assert!(
            markup.starts_with(words[0]) && markup.ends_with(words[words.len() - 1]),
            "{markup} | {}",
            passage.text
        );
    }
}
