use super::{one, passages};

const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>The bridge &amp; the town</title>\n\
    <meta property=\"article:published_time\" content=\"1998-05-03T10:00:00Z\">\
    <link rel=canonical href='https://www.gazette.example/1'><style>p { color: red }</style></head>\n\
    <body><nav><a href=/>Home</a></nav><h1>The bridge</h1>\n<p>It opened in <b>May</b>&nbsp;1932&mdash;\n  after &lt;9&gt; years.\
    <script>if (a < b) { x = \"<p>no</p>\" }</script> Good<br>bye</p><ul><li>one<li>two</ul>\
    <table><tr><td>a<td>b</table></body></html>";

#[test]
fn only_visible_text_is_read() {
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
fn passages_have_exact_positions() {
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
fn unclosed_elements_do_not_hide_later_text() {
    assert_eq!(one("a.html", b"<nav>menu <p>text").unwrap()[0].text, "menu\n\ntext");
    assert_eq!(one("a.html", b"a<svg><title>t</title><g></svg>b<svg>c").unwrap()[0].text, "abc");
    assert_eq!(one("a.htm", b"a &bogus; &notit; &#0; & b").unwrap()[0].text, "a &bogus; \u{ac}it; \u{fffd} & b");
}

/// The text of a page.
fn text(markup: &str) -> String {
    one("a.html", markup.as_bytes()).unwrap()[0].text.clone()
}

#[test]
fn deleted_text_is_left_out() {
    assert_eq!(
        text("<p>It opened in <del>1888</del> <ins>1889</ins>.<p>It costs <s>40</s> 25 crowns."),
        "It opened in 1889.\n\nIt costs 25 crowns."
    );
    assert_eq!(
        text(
            "<p>Open <strike>daily</strike> on Sundays <span style=\"text-decoration: line-through\">till six</span>."
        ),
        "Open on Sundays ."
    );
}

#[test]
fn superscripts_and_subscripts_keep_their_level() {
    for (markup, expected) in [
        ("built in 1788<sup>3</sup> by", "built in 1788 [3] by"),
        ("cost 10<sup>6</sup> crowns", "cost 10^6 crowns"),
        ("an area of 40&nbsp;m<sup>2</sup>.", "an area of 40 m^2."),
        ("H<sub>2</sub>O and x<sub>i</sub>", "H2O and x_i"),
        ("in 1788<sup><a href=\"#fn1\">3</a></sup> by", "in 1788 by"),
        ("in 1788<a href='#fn1'><sup>3</sup></a> by", "in 1788 by"),
        (
            "in 1788<sup class=reference id=cite_ref-1><a href='#cite_note-1'><span>[</span>1<span>]</span></a></sup> by",
            "in 1788 by",
        ),
        ("in 1788<a role=doc-noteref href='#n'>3</a> by", "in 1788 by"),
        ("the brothers Sand.<sup>12</sup> It had", "the brothers Sand. It had"),
        ("the 19<sup>th</sup> century, 1<sup>er</sup> mai", "the 19th century, 1er mai"),
        ("1<sup>1</sup>/<sub>2</sub> miles", "1 1/2 miles"),
        ("10<span style='vertical-align:super'>6</span> crowns", "10^6 crowns"),
        ("<math><msup><mn>10</mn>\n<mn>6</mn></msup></math> crowns", "10^6 crowns"),
        ("10<span style='position:relative;top:-.4em;font-size:70%'>6</span> crowns", "10^6 crowns"),
        ("1788<span style='vertical-align:35%'>3</span> by", "1788 [3] by"),
        (
            "<math><mroot><mn>27</mn><mn>3</mn></mroot><mo>=</mo><msqrt><mn>9</mn></msqrt></math>",
            "(27)^(1/3)=\u{221a}(9)",
        ),
        ("<math><mfrac><mn>1</mn><msqrt><msup><mi>x</mi><mn>2</mn></msup></msqrt></mfrac></math>", "1/\u{221a}(x^2)"),
        ("<math><mn>4</mn><mfrac><mn>1</mn><mn>2</mn></mfrac></math> miles", "4 1/2 miles"),
        ("10<sup>6</sup>1", "10^(6)1"),
        ("<math><mn>5</mn><mo>&InvisibleTimes;</mo><mn>3</mn></math>", "5\u{b7}3"),
        ("<math><msub><mi>x</mi><mn>1</mn></msub><mo>=</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></math>", "x_1=1/2"),
        (
            "see<sup>a whole sentence that is only small and high</sup> there",
            "see a whole sentence that is only small and high there",
        ),
        ("<p>E = mc<sup>2<p>next", "E = mc^2\n\nnext"),
        ("<ruby>\u{6771}<rp>(</rp><rt>to</rt><rp>)</rp>\u{4eac}<rt>kyo</ruby> 1904", "\u{6771}(to)\u{4eac}(kyo) 1904"),
    ] {
        assert_eq!(text(&format!("<p>{markup}")), expected, "{markup}");
    }
}

#[test]
fn rules_of_the_page_hide_and_raise() {
    let page = |rules: &str, body: &str| text(&format!("<style>{rules}</style><p>Opened {body}"));
    for (rules, body, expected) in [
        (".u{vertical-align:super}", "in 1788<span class='a u'>3</span> by", "Opened in 1788 [3] by"),
        (".u{vertical-align:super} .u{vertical-align:baseline}", "in 12<span class=u>3</span>.", "Opened in 123."),
        (".h , #x { display : none }", "<b class=h>NOT</b><b id=x>NOT</b>in 1931", "Opened in 1931"),
        ("b.h{display:none}", "<i class=h>in</i> <b class=h>NOT</b>1931", "Opened in 1931"),
        (".h{display:none}", "<b class=h style='display:inline'>in</b> 1931", "Opened in 1931"),
        (".h{display:none} #y{display:inline}", "<b class=h id=y>in</b> 1931", "Opened in 1931"),
        // The later rule counts of equal ones, and ends what the earlier one said.
        (".h{opacity:0} .h{opacity:1}", "<b class=h>in</b> 1931", "Opened in 1931"),
        (".h{opacity:1} .h{opacity:0}", "<b class=h>NOT</b>in 1931", "Opened in 1931"),
        (".h{visibility:hidden} b.h{visibility:inherit}", "<b class=h>in</b> 1931", "Opened in 1931"),
        (".h{display:none!important} .h{display:inline}", "<b class=h>NOT</b>in 1931", "Opened in 1931"),
        ("<!-- .h{display:none} -->", "<b class=h>NOT</b>in 1931", "Opened in 1931"),
        // Other selectors change nothing else, or show what is hidden by turns.
        (
            ".h{display:none} p .h{font-size:12px} p .h{vertical-align:top}",
            "<b class=h>NOT</b>in 1931",
            "Opened in 1931",
        ),
        (".h{opacity:0} p.on .h{opacity:1}", "<b class=h>in</b> 1931", "Opened in 1931"),
        (".h{opacity:0;height:0;overflow:hidden} .on .h{opacity:1}", "<b class=h>NOT</b>in 1931", "Opened in 1931"),
        ("body .h{display:none}", "<b class=h>NOT</b>in 1931", "Opened in 1931"),
        // Elements within others.
        (".a .h{display:none}", "<i class=h>in</i> <i class=a><b><b class=h>NOT</b></b></i>1931", "Opened in 1931"),
        ("p > .h{display:none}", "<b class=h>NOT</b>in 1931", "Opened in 1931"),
        (".a > .h{display:none}", "<b class=a><div><b class=h>in</b></div></b>1931", "Opened\n\nin\n\n1931"),
        ("li.a b{display:none}", "<ul><li class=a><b>NOT</b>in<li><b>1931</b></ul>", "Opened\n\nin\n\n1931"),
        (".a .h{display:none} .on .h{display:inline}", "<i class=a><b class=h>in</b></i> 1931", "Opened in 1931"),
        (".h:not(:focus){opacity:0}", "<b class=h>NOT</b>in 1931", "Opened in 1931"),
        ("@media screen{.h{display:none}}", "<b class=h>NOT</b>in 1931", "Opened in 1931"),
        ("@layer base{.h{display:none}}", "<b class=h>NOT</b>in 1931", "Opened in 1931"),
        ("@supports (display:grid){.h{display:none}}", "<b class=h>NOT</b>in 1931", "Opened in 1931"),
        ("@media (max-width:9em){.h{display:none}}", "<b class=h>in</b> 1931", "Opened in 1931"),
        // The attribute counts beside a sheet.
        (".f{display:flex} [hidden]{display:none!important}", "<b class=f hidden>NOT</b>in 1931", "Opened in 1931"),
        // Shown and hidden by turns, by another selector, and on paper.
        (".tab{display:none} .tab.on{display:block}", "<b class='tab'>in</b> 1931", "Opened in 1931"),
        (".tab{display:none} main .tab{display:block}", "<b class='tab'>in</b> 1931", "Opened in 1931"),
        (".a .h{display:none} @media print{.h{display:none}}", "<b class=h>in</b> 1931", "Opened in 1931"),
        ("body{display:none !important}", "<body>in 1931", "Opened\n\nin 1931"),
        ("p{opacity:0}", "in 1931", "Opened in 1931"),
        (".h{color:red", "<b class=h>in</b> 1931", "Opened in 1931"),
    ] {
        assert_eq!(page(rules, body), expected, "{rules}");
    }
    assert_eq!(text("<style media=print>.h{display:none}</style><p><b class=h>in</b> 1931"), "in 1931");
}

#[test]
fn soft_hyphens_are_no_text_of_a_passage() {
    for (name, content) in [("a.html", "<p>Schiff&shy;fahrt, co\u{ad}op"), ("a.txt", "Schiff\u{ad}fahrt, co\u{ad}op")] {
        let passage = &passages(name, content, 10, 0)[0];
        assert_eq!(passage.text, "Schifffahrt, coop");
        let whole = content.chars().count() as u64;
        assert_eq!(passage.origin.characters.end, whole);
    }
    assert!(passages("a.html", "<p>&shy;", 10, 0).is_empty(), "a text of a soft hyphen alone has no passage");
}

#[test]
fn positions_of_raised_text_are_those_of_its_markup() {
    let page = "<p>It cost 10<sup>6</sup> crowns in 1788<sup><a href='#n'>3</a></sup>.";
    let found = passages("a.html", page, 4, 0);
    let origin =
        |at: usize| &page[found[at].origin.characters.start as usize..found[at].origin.characters.end as usize];
    assert_eq!((found[0].text.as_str(), origin(0)), ("It cost 10^6 crowns", "It cost 10<sup>6</sup> crowns"));
    assert_eq!((found[1].text.as_str(), origin(1)), ("in 1788.", "in 1788<sup><a href='#n'>3</a></sup>."));
}

#[test]
fn a_declared_character_set_is_followed_and_positions_are_in_characters() {
    let page = "<html><head><meta charset=windows-1251><title>Мост</title></head><p>Паром отплыл.</p>";
    let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(page);
    let document = &one("a.html", &bytes).unwrap()[0];
    assert_eq!((document.text.as_str(), document.title.as_deref()), ("Паром отплыл.", Some("Мост")));
    assert!(document.notes.is_empty());
    let utf16: Vec<u8> = "\u{feff}".encode_utf16().chain(page.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    let document = &one("a.html", &utf16).unwrap()[0];
    let origin = document.passages(&moot::retrieval::chunk::Chunking::default())[0].origin.characters.clone();
    let expected = page.chars().position(|c| c == 'П').unwrap() as u64 + 1;
    assert_eq!((document.text.as_str(), origin.start), ("Паром отплыл.", expected));
}
