use super::one;

fn text(markup: &str) -> String {
    one("a.html", markup.as_bytes()).unwrap()
}

#[test]
fn nesting_takes_linear_time() {
    for part in [
        "<template>",
        "<select><option>",
        "<svg><foreignObject>",
        "<nav>",
        "<b hidden>",
        "<title>",
        "<li>",
        "<p>",
        "</p>",
    ] {
        let started = std::time::Instant::now();
        let end = one("a.html", format!("seen {}", part.repeat(200_000)).as_bytes());
        assert!(
            started.elapsed().as_secs() < 120,
            "{part}: {:?}, quadratic work takes many minutes",
            started.elapsed()
        );
        match end {
            Ok(text) => assert_eq!(text, "seen", "{part}"),
            Err(why) => assert!(why.contains("at most 512 open elements, found more, at line 1"), "{part}: {why}"),
        }
    }
}

#[test]
fn too_many_open_elements_are_an_error_with_the_line() {
    let deep = format!("a\n{}b", "<div>".repeat(513));
    assert_eq!(
        one("a.html", deep.as_bytes()).unwrap_err(),
        "a.html: expected at most 512 open elements, found more, at line 2"
    );
    assert_eq!(text(&format!("a{}b", "<div>".repeat(512))), "a\n\nb");
    // Elements that the next one closes do not accumulate.
    assert_eq!(
        text(&"<ul>".repeat(9).replace("<ul>", &format!("<ul>{}</ul>", "<li><p>x".repeat(900)))).len(),
        8100 * 3 - 2
    );
}

#[test]
fn hidden_text_is_no_text() {
    for hidden in [
        "<div style='display:none'>SECRET</div>",
        "<div style='DISPLAY : none ! important'><p>SECRET<b>SECRET</b></p>SECRET</div>",
        "<div style='d\\69splay:/**/none'>SECRET</div>",
        "<p hidden>SECRET<p>",
        "<p hidden>SECRET<div></div>",
        "<div><p hidden>SECRET</div>",
        "<span hidden=until-found>SECRET<span>SECRET</span>SECRET</span>",
        "<div popover>SECRET</div>",
        "<p style='display:none;display:blok'>SECRET</p>",
        "<p style='display:none!important;display:block'>SECRET</p>",
        "<span style='font-size:calc(0px)'>SECRET</span>",
        "<span style='font-size:clamp(0px, 0em, 0.1px)'>SECRET</span>",
        "<del>SECRET</del> <s>SECRET</s> <strike>SECRET</strike>",
        "<del><p>SECRET</p><p>SECRET</p></del>",
        "<p><s>SECRET<p>SECRET</s>",
        "<span style='text-decoration:line-through'>SECRET</span>",
        "<math><semantics><annotation encoding='application/x-tex'>SECRET</annotation></semantics></math>",
        "<ruby><rp>SECRET</rp></ruby>",
        "<ruby><rp>SECRET</ruby>",
        "<noscript>SECRET</noscript>",
        "<span style='font-size:0'>SECRET</span>",
        "<span style='font-size:0.1px'>SECRET<u>SECRET</u></span>",
        "<font style='font:0/0 serif'>SECRET</font>",
        "<div style='visibility:hidden'>SECRET</div>",
        "<div style='opacity:0'>SECRET</div>",
        "<div style='position:absolute;clip:rect(1px,1px,1px,1px)'>SECRET</div>",
        "<div style='clip-path:inset(50%)'>SECRET</div>",
        "<div style='position:fixed;left:-9999px'>SECRET</div>",
        "<div style='text-indent:-9999px'>SECRET</div>",
        "<div style='max-height:0;overflow:hidden'>SECRET</div>",
        "<div style='transform:scale(0)'>SECRET</div>",
        "<div style='transform:translateX(-9999px)'>SECRET</div>",
        "<div style='filter:opacity(0)'>SECRET</div>",
        "<style>.x{display:none}</style><div class=x>SECRET</div>",
        "<style>.x .y{display:none}</style><div class=x><p><b class=y>SECRET</b></div>",
        "<span style='font-size:1e-5em'>SECRET</span>",
        "<ul><li hidden>SECRET<li></ul>",
        "<table><tr><td hidden></div>SECRET<td></table>",
        "<b><i hidden></b>SECRET</i>",
        "<div><i hidden></div>SECRET</i>",
        "<dialog>SECRET</dialog>",
        "<video>SECRET</video><canvas>SECRET</canvas><datalist><option>SECRET</datalist>",
        "<script>SECRET</script><style>SECRET</style><template>SECRET</template>",
    ] {
        assert_eq!(
            text(&format!("before {hidden} after")).split_whitespace().collect::<Vec<_>>(),
            ["before", "after"],
            "{hidden}"
        );
    }
}

#[test]
fn unclosed_hidden_elements_stay_hidden() {
    for open in ["<script>", "<style>", "<template>", "<iframe>", "<noembed>", "<div hidden>", "<b style=display:none>"]
    {
        assert_eq!(text(&format!("before {open} SECRET <p>SECRET")), "before", "{open}");
    }
}

#[test]
fn shown_elements_within_hidden_ones_are_text() {
    for shown in [
        "<td style='font-size:0px'><div style='font-size:13px'>text</div></td>",
        "<div style='visibility:hidden'><b style='visibility:visible'>text</b></div>",
        "<div style='display:none;display:block'>text</div>",
        "<dialog open>text</dialog>",
        "<svg/>text",
        "<input type=text hidden>text",
        "<p hidden>no<p>text",
        "<div aria-hidden=false>text</div>",
    ] {
        assert_eq!(text(shown), "text", "{shown}");
    }
}

#[test]
fn visible_elements_within_hidden_ones_are_text() {
    for shown in [
        "<p hidden style='display:block'>shown</p>",
        "<i aria-hidden=true>shown</i>",
        "<p style='display:none;display:flex'>shown</p>",
        "<dialog open>shown</dialog>",
        "<div popover style='display:block'>shown</div>",
        "<p><del>shown</p>",
        "<s>shown",
        "<span style='font-size:0'><b style='font-size:1em'>shown</b></span>",
    ] {
        assert_eq!(
            text(&format!("before {shown}")).split_whitespace().collect::<Vec<_>>(),
            ["before", "shown"],
            "{shown}"
        );
    }
}

#[test]
fn control_characters_take_no_more_room_than_others() {
    let markup = format!("<p>{}x", "\u{1}\u{2}".repeat(1_000_000));
    let started = std::time::Instant::now();
    assert_eq!(text(&markup).len(), 2_000_001);
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn a_tag_of_countless_attributes_is_refused() {
    let expected = "a.html: expected at most 128 attributes in a tag, found more, at line 1";
    for part in [" style=\"a\"", " a='b'", " a=b", " a", "<p a=\"b\" c=\"d\""] {
        for open in ["<p", "</p", "<p class=\""] {
            let read = one("a.html", format!("seen {open}{}>", part.repeat(100_000)).as_bytes());
            match read {
                Ok(text) => assert!(text.starts_with("seen"), "{open} {part}"),
                Err(why) => assert_eq!(why, expected, "{open} {part}"),
            }
        }
    }
    assert_eq!(one("a.html", format!("seen <p{}>", " style=\"a\"".repeat(500)).as_bytes()).unwrap_err(), expected);
    let some: String = (0..100).map(|i| format!(" a{i}=\"b\"")).collect();
    assert_eq!(text(&format!("seen <b{some}>bold</b>")), "seen bold");
}
