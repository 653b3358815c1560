//! Parts of a file besides the text of its pages: forms.

use super::super::one;
use super::make::{File, at};

const CAPTION: &str = "Name of boat:";

/// A page with a caption and a field with these entries.
fn form(field: &str, appearance: Option<&str>, catalog: &str) -> String {
    let mut file = File::new();
    let form = file.stream(
        "/Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /F 3 0 R /Z 4 0 R >> >>",
        appearance.unwrap_or_default(),
    );
    let entries = if appearance.is_some() { format!("/AP << /N {form} 0 R >>") } else { String::new() };
    let widget = file.object(format!(
        "<< /Type /Annot /Subtype /Widget /Rect [160 722 360 742] {} {entries} >>",
        field.replace("FORM", &format!("{form} 0 R"))
    ));
    file.catalog(&format!("/AcroForm << /Fields [{widget} 0 R] {catalog} >>"));
    file.page_with(at(60.0, 728.0, 12.0, CAPTION), "", &format!("/Annots [{widget} 0 R]"));
    one("a.pdf", &file.bytes()).unwrap()[0].text.clone()
}

#[test]
fn values_of_fields_are_text_beside_their_captions() {
    let drawn = "/Tx BMC q BT /F 12 Tf 4 6 Td (Aurora Minor) Tj ET Q EMC";
    let expected = format!("{CAPTION} Aurora Minor");
    assert_eq!(form("/FT /Tx /T (boat) /V (Aurora Minor)", Some(drawn), ""), expected);
    // Without an appearance, with an empty one, and with an old one.
    assert_eq!(form("/FT /Tx /T (boat) /V (Aurora Minor)", None, ""), expected);
    assert_eq!(form("/FT /Tx /T (boat) /V <FEFF004100750072006F00720061>", Some(""), ""), format!("{CAPTION} Aurora"));
    assert_eq!(
        form("/FT /Tx /T (boat) /V (Petrel)", Some(drawn), "/NeedAppearances true"),
        format!("{CAPTION} Petrel")
    );
    assert_eq!(form("/Parent << /FT /Ch /V [(Petrel) (Sea Lark)] >>", None, ""), format!("{CAPTION} Petrel, Sea Lark"));
    // A box that is on, without letters in its appearance.
    assert_eq!(form("/FT /Btn /AS /On /AP << /N << /On FORM >> >>", None, ""), format!("{CAPTION} \u{2714}"));
    for off in ["/FT /Btn /AS /Off /V /On", "/FT /Btn", "/FT /Btn /Ff 65536 /V /On"] {
        assert_eq!(form(off, None, ""), CAPTION, "{off}");
    }
}

#[test]
fn texts_that_are_put_on_a_page_are_read() {
    let text = |entries: &str| {
        let mut file = File::new();
        let note = file.object(format!("<< /Type /Annot /Rect [160 722 360 742] {entries} >>"));
        file.page_with(at(60.0, 728.0, 12.0, CAPTION), "", &format!("/Annots [{note} 0 R]"));
        one("a.pdf", &file.bytes()).unwrap()[0].text.clone()
    };
    assert_eq!(text("/Subtype /FreeText /Contents (Aurora Minor)"), format!("{CAPTION} Aurora Minor"));
    // A comment of a reader.
    assert_eq!(text("/Subtype /Text /Contents (Aurora Minor)"), CAPTION);
}

#[test]
fn pages_that_a_damaged_file_lacks_are_noted() {
    let mut file = File::new();
    (1..=3).for_each(|number| file.page(at(60.0, 728.0, 12.0, &format!("Page {number}"))));
    let bytes = file.bytes();
    let cut = bytes.windows(6).position(|part| part == b"Page 3").unwrap();
    let documents = one("a.pdf", &bytes[..cut]).unwrap();
    assert_eq!(documents.len(), 2);
    assert_eq!(
        documents[0].notes,
        ["1 of 3 pages are missing or cannot be read", "the file ends early: pages may be missing"]
    );
    assert!(one("a.pdf", &bytes).unwrap()[0].notes.is_empty());
}

#[test]
fn invisible_fields_of_a_form_are_not_read() {
    let drawn = "BT /F 12 Tf 4 6 Td (Aurora Minor) Tj ET";
    assert_eq!(form("/FT /Tx /V (Aurora Minor) /F 2", Some(drawn), ""), CAPTION);
    assert_eq!(form("/FT /Tx /V (secret) /Ff 8192", None, ""), CAPTION);
    assert_eq!(form("/FT /Tx /V ()", None, ""), CAPTION);
}

#[test]
fn states_of_boxes_are_read() {
    let on = "BT /Z 12 Tf 4 6 Td (4) Tj ET";
    let mut file = File::new();
    let form = file.stream("/Subtype /Form /BBox [0 0 20 20] /Resources << /Font << /Z 4 0 R >> >>", on);
    let mut widgets = String::new();
    for (x, state) in [(160, "On"), (260, "Off")] {
        let widget = file.object(format!(
            "<< /Subtype /Widget /FT /Btn /Rect [{x} 722 {} 742] /AS /{state} /AP << /N << /On {form} 0 R >> >> >>",
            x + 20
        ));
        widgets += &format!("{widget} 0 R ");
    }
    let content = at(60.0, 728.0, 12.0, "With a sail") + &at(200.0, 728.0, 12.0, "or oars");
    file.page_with(content, "", &format!("/Annots [{widgets}]"));
    assert_eq!(one("a.pdf", &file.bytes()).unwrap()[0].text, "With a sail \u{2714} or oars");
}

#[test]
fn losses_of_a_file_are_noted_with_their_pages() {
    let mut file = File::new();
    file.object(
        "<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray /Length 1 >>\n\
         stream\n0\nendstream",
    );
    file.page(at(60.0, 700.0, 11.0, "The scanned deed names Odo Brandt."));
    file.page("q 500 0 0 700 0 0 cm /X Do Q");
    file.page("q 500 0 0 700 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID 0 EI Q");
    file.page("");
    let nameless = file.object(
        "<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /DescendantFonts [<< /Type /Font /Subtype \
         /CIDFontType2 /BaseFont /A /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>] >>",
    );
    file.page_with(
        at(60.0, 700.0, 11.0, "The mill of") + "BT /N 11 Tf 1 0 0 1 200 700 Tm <00010002> Tj ET",
        &format!("/N {nameless} 0 R"),
        "",
    );
    let folder = super::super::folder(&[("a.pdf", &file.bytes())]);
    let corpus = super::super::open(&folder, &["corpus"]).unwrap();
    let mut documents = corpus.documents();
    let pages: Vec<_> = documents.by_ref().map(Result::unwrap).collect();
    let expected = [
        "pages 2-3 of 5 are pictures without text",
        "2 letters are missing on page 5 of 5: fonts without a Unicode value for them",
    ];
    assert_eq!(pages.len(), 2);
    assert!(pages.iter().all(|page| page.notes == expected), "{:?}", pages[0].notes);
    assert_eq!(documents.notes().iter().map(|noted| noted.note.as_str()).collect::<Vec<_>>(), expected);
}

#[test]
fn an_uncertain_order_is_noted() {
    // Short cells on one side and lines of several words on the other: labels of a table, or columns.
    let cells: &[&[&str]] = &[
        &["Old stone bridge", "closed for all carts since the"],
        &["New iron bridge", "winter of 1973, and opened for"],
        &["Upper ferry house", "people in the spring, when the"],
    ];
    let content = super::make::rows(&[60.0, 250.0], 700.0, 11.0, 14.0, cells);
    let pages = one("a.pdf", &super::make::one_page(&content)).unwrap();
    assert_eq!(pages[0].notes, ["the reading order of page 1 of 1 is uncertain: columns, or rows of a table"]);
}
