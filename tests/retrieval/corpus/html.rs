use super::{one, passages};

const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>The bridge &amp; the town</title>\n\
    <meta property=\"article:published_time\" content=\"1998-05-03T10:00:00Z\">\
    <link rel=canonical href='https://www.gazette.example/1'><style>p { color: red }</style></head>\n\
    <body><nav><a href=/>Home</a></nav><h1>The bridge</h1>\n<p>It opened in <b>May</b>&nbsp;1932&mdash;\n  after &lt;9&gt; years.\
    <script>if (a < b) { x = \"<p>no</p>\" }</script> Good<br>bye</p><ul><li>one<li>two</ul>\
    <table><tr><td>a<td>b</table></body></html>";

#[test]
fn what_a_reader_sees() {
    let document = &one("a.html", PAGE.as_bytes()).unwrap()[0];
    assert_eq!(
        document.text,
        "The bridge\n\nIt opened in May 1932\u{2014} after <9> years. Good\nbye\n\none\n\ntwo\n\na b"
    );
    assert_eq!(document.title.as_deref(), Some("The bridge & the town"));
    assert_eq!(document.date.as_deref(), Some("1998-05-03T10:00:00Z"));
    assert_eq!(document.source.as_deref(), Some("gazette.example"));
    assert_eq!(document.url.as_deref(), Some("https://www.gazette.example/1"));
}

#[test]
fn where_it_stands() {
    let text: Vec<char> = PAGE.chars().collect();
    let found: Vec<(String, String)> = passages("a.html", PAGE, 9, 0)
        .into_iter()
        .map(|p| (p.text, text[p.origin.characters.start as usize..p.origin.characters.end as usize].iter().collect()))
        .collect();
    // A heading belongs to the passage below it.
    assert_eq!(found[0].0, "The bridge\n\nIt opened in May 1932\u{2014} after <9>");
    assert!(
        found[0].1.starts_with("The bridge<") && found[0].1.ends_with("1932&mdash;\n  after &lt;9&gt;"),
        "{found:?}"
    );
    assert!(found[1].0.starts_with("years. Good\nbye") && found[1].1.starts_with("years.<script>"), "{found:?}");
}

#[test]
fn what_is_never_closed_swallows_nothing() {
    assert_eq!(one("a.html", b"<nav>menu <p>text").unwrap()[0].text, "menu\n\ntext");
    assert_eq!(one("a.html", b"a<svg><title>t</title><g></svg>b<svg>c").unwrap()[0].text, "abc");
    assert_eq!(one("a.htm", b"a &bogus; &notit; &#0; & b").unwrap()[0].text, "a &bogus; \u{ac}it; \u{fffd} & b");
}
