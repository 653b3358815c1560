use super::one;
use std::fmt::Write as _;
use std::io::Write as _;

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Zeros, `times` packed: about 1,000 times shorter each time.
fn bomb(bytes: usize, times: u32) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let block = vec![0; 1 << 20];
    (0..bytes >> 20).for_each(|_| encoder.write_all(&block).unwrap());
    (1..times).fold(encoder.finish().unwrap(), |packed, _| zlib(&packed))
}

fn stream(dict: &str, data: &[u8]) -> Vec<u8> {
    let mut object = format!("<< {dict} /Length {} >>\nstream\n", data.len()).into_bytes();
    object.extend_from_slice(data);
    object.extend_from_slice(b"\nendstream");
    object
}

/// A file of these objects, from number 1; the first is the catalog. Without a table of them, as damaged files are.
fn file(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    for (object, number) in objects.iter().zip(1..) {
        file.extend_from_slice(format!("{number} 0 obj\n").as_bytes());
        file.extend_from_slice(object);
        file.extend_from_slice(b"\nendobj\n");
    }
    file.extend_from_slice(format!("trailer << /Root 1 0 R {trailer} >>\n%%EOF").as_bytes());
    file
}

const CATALOG: &[u8] = b"<< /Type /Catalog /Pages 2 0 R >>";
const PAGES: &[u8] = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>";

/// A page whose content and further objects these are.
fn page(contents: &str, more: &[Vec<u8>]) -> Vec<u8> {
    let page = format!(
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents {contents} /Resources << /Font << /F 5 0 R >> \
         /XObject << /X 6 0 R >> >> >>"
    );
    let objects: Vec<Vec<u8>> =
        [CATALOG.to_vec(), PAGES.to_vec(), page.into_bytes()].into_iter().chain(more.iter().cloned()).collect();
    file(&objects, "")
}

const FONT: &[u8] = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>";
const WORDS: &[u8] = b"BT /F 12 Tf (sound words) Tj ET";
const TOO_LONG: &str = "a.pdf: expected a PDF whose streams decode to at most 64 MiB each, found more in one";

#[test]
fn a_sound_file_of_this_form_is_read() {
    let content = stream("/Filter /FlateDecode", &zlib(WORDS));
    assert_eq!(one("a.pdf", &page("4 0 R", &[content, FONT.to_vec()])).unwrap(), "sound words");
    let hex: String = WORDS.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    let content = stream("/Filter [/Fl /AHx]", &zlib(hex.as_bytes()));
    let below = stream("", b"BT /F 12 Tf 0 -14 Td (and more) Tj ET");
    let twice = page("[4 0 R 6 0 R]", &[content, FONT.to_vec(), below]);
    assert_eq!(one("a.pdf", &twice).unwrap(), "sound words\nand more");
}

#[test]
fn bombs_in_pages_forms_and_fonts_skip_the_file() {
    const GIB: usize = 1 << 30;
    let packed = "/Filter [/FlateDecode /FlateDecode /FlateDecode]";
    let bomb = bomb(GIB, 3);
    assert!(bomb.len() < 2000, "{}", bomb.len());
    let content = page("4 0 R", &[stream(packed, &bomb), FONT.to_vec()]);
    assert_eq!(one("a.pdf", &content).unwrap_err(), TOO_LONG);
    let words = stream("", b"q /X Do Q BT /F 12 Tf (sound) Tj ET");
    let form = stream(&format!("/Subtype /Form {packed}"), &bomb);
    assert_eq!(one("a.pdf", &page("4 0 R", &[words.clone(), FONT.to_vec(), form])).unwrap_err(), TOO_LONG);
    let font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 7 0 R >>".to_vec();
    let form = stream("/Subtype /Form", b" ");
    let font = page("4 0 R", &[words, font, form, stream(packed, &bomb)]);
    assert_eq!(one("a.pdf", &font).unwrap_err(), TOO_LONG);
}

#[test]
fn bombs_in_streams_of_objects_and_of_references_skip_the_file() {
    let bomb = bomb(1 << 30, 2);
    for dict in [
        "/Type /ObjStm /N 1 /First 4 /Filter [/FlateDecode /FlateDecode]",
        "/Type /ObjStm /#4e 1 /First 4 /Filter % obj\n[/Fl#61teDecode /Fl]",
        "/Type /XRef /W [1 2 1] /Size 9 /Filter [/FlateDecode /FlateDecode]",
        "/N 1 /First 4 /X (stream ) /Filter [/LZW] /DecodeParms << /Columns 99999999999 /Predictor 2 >>",
        "/N 1 /First 4 /Filter 9 0 R",
    ] {
        let found = one("a.pdf", &page("4 0 R", &[stream("", WORDS), FONT.to_vec(), stream(dict, &bomb)]));
        assert_eq!(found.unwrap_err(), TOO_LONG, "{dict}");
    }
}

#[test]
fn repeated_objects_count_each_time() {
    // 40 MiB of white space, a hundred times in one page: within the bound of a stream, not of a file.
    let spaces = stream("/Filter /FlateDecode", &zlib(&vec![b' '; 40 << 20]));
    let many = page(&format!("[{}]", "4 0 R ".repeat(100)), &[spaces, FONT.to_vec()]);
    assert_eq!(one("a.pdf", &many).unwrap_err(), "a.pdf: expected a PDF that decodes to at most 512 MiB, found more");
}

#[test]
fn nested_objects_take_linear_time() {
    let nested = [b"%PDF-1.7\n".to_vec(), b"1 0 obj<</A(".repeat(300_000)].concat();
    assert_eq!(
        one("a.pdf", &nested).unwrap_err(),
        "a.pdf: expected a PDF that can be read, found one whose objects overlap"
    );
    // A length that is wrong, and the end of all streams far away.
    let far =
        [b"%PDF-1.7\n".to_vec(), b"1 0 obj<</Length 9>>stream\nx\n".repeat(300_000), b"endstream".to_vec()].concat();
    assert_eq!(
        one("a.pdf", &far).unwrap_err(),
        "a.pdf: expected a PDF that can be read, found one whose objects overlap"
    );
    let open = [b"%PDF-1.7\n".to_vec(), b"1 0 obj<</A<a".repeat(100_000)].concat();
    assert!(one("a.pdf", &open).is_err());
}

#[test]
fn ranges_of_letters_in_fonts_are_bounded() {
    const MANY: &str = "a.pdf: expected a PDF whose fonts list at most 4194304 widths, found more";
    let words = stream("", WORDS);
    let font = |entries: &str| format!("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica {entries} >>").into_bytes();
    let wide = |entries: &str| {
        format!(
            "<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /DescendantFonts [<< /Type /Font /Subtype \
             /CIDFontType2 /BaseFont /A {entries} /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> \
             >>] >>"
        )
        .into_bytes()
    };
    for object in [
        font("/FirstChar 100000000000 /LastChar 100000000000 /Widths [500]"),
        wide("/W [0 4294967295 500]"),
        wide("/W [7 [500 600] 0 2000000 500 0 2000000 500 1 2000000 400]"),
        wide("/W2 [0 4294967295 500 500 500]"),
    ] {
        let found = one("a.pdf", &page("4 0 R", &[words.clone(), object.clone()]));
        assert_eq!(found.unwrap_err(), MANY, "{}", String::from_utf8_lossy(&object));
    }
    // As real files have them.
    let sound = font("/FirstChar 32 /LastChar 126 /Widths [278 278 355 556]");
    assert_eq!(one("a.pdf", &page("4 0 R", &[words.clone(), sound])).unwrap(), "sound words");
    assert!(
        one("a.pdf", &page("4 0 R", &[words, wide("/W [0 65535 500 7 [500 600]]")])).is_err_and(|said| said != MANY)
    );
}

#[test]
fn a_map_that_fonts_share_counts_for_each() {
    let map: String = (0..400_000).fold("1 beginbfchar ".to_owned(), |mut map, code| {
        write!(map, "<{:04x}><0041>", code % 65536).unwrap();
        map
    });
    let map = stream("/Filter /FlateDecode", &zlib((map + "endbfchar").as_bytes()));
    let fonts: String = (0..2000).fold(String::new(), |mut fonts, number| {
        write!(fonts, "/F{number} << /Type /Font /Subtype /Type1 /BaseFont /Font{number} /ToUnicode 4 0 R >> ")
            .unwrap();
        fonts
    });
    let content: String = (0..2000).fold("BT ".to_owned(), |mut content, number| {
        write!(content, "/F{number} 12 Tf (a) Tj ").unwrap();
        content
    });
    let page = format!("<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << {fonts} >> >> >>");
    let objects = [CATALOG.to_vec(), PAGES.to_vec(), page.into_bytes(), map, stream("", content.as_bytes())];
    let found = one("a.pdf", &file(&objects, "")).unwrap_err();
    assert_eq!(found, "a.pdf: expected a PDF that decodes to at most 512 MiB, found more");
}

#[test]
fn a_page_tree_whose_nodes_share_children_is_refused() {
    let mut objects = vec![CATALOG.to_vec(), b"<< /Type /Pages /Kids 4 0 R /Count 1 >>".to_vec(), FONT.to_vec()];
    for next in 5..60 {
        objects.push(format!("[<< /Type /Pages /Kids {next} 0 R >> << /Type /Pages /Kids {next} 0 R >>]").into_bytes());
    }
    objects.push(b"[<< /Type /Page >>]".to_vec());
    const NO_TREE: &str = "a.pdf: expected a PDF whose page tree is a tree, found nodes with the same children";
    assert_eq!(one("a.pdf", &file(&objects, "")).unwrap_err(), NO_TREE);
    // In a stream of objects.
    let (mut table, mut packed) = (String::new(), String::new());
    for (number, object) in objects.iter().enumerate().skip(3) {
        write!(table, "{} {} ", number + 1, packed.len()).unwrap();
        packed += &format!("{} ", String::from_utf8_lossy(object));
    }
    let dict = format!("/Type /ObjStm /N {} /First {} /Filter /FlateDecode", objects.len() - 3, table.len());
    let packed = stream(&dict, &zlib((table + &packed).as_bytes()));
    let objects = [objects[0].clone(), objects[1].clone(), packed];
    assert_eq!(one("a.pdf", &file(&objects, "")).unwrap_err(), NO_TREE);
}

#[test]
fn inline_images_take_linear_time() {
    for image in ["BI ID x ", "B#49 ID x ", "BI /W 1 /H 1 /BPC 8 /CS /G ID x "] {
        let content = format!("{image}{} BT /F 12 Tf (sound words) Tj ET", "EI ".repeat(300_000));
        let content = stream("/Filter /FlateDecode", &zlib(content.as_bytes()));
        assert_eq!(one("a.pdf", &page("4 0 R", &[content, FONT.to_vec()])).unwrap(), "sound words");
    }
}

#[test]
fn predictors_without_columns_are_refused() {
    for parameters in
        ["/Predictor 2 /Columns 0", "/Predictor 12 /Colors 0 /Columns 5", "/Predictor 15 /BitsPerComponent 0"]
    {
        let content = stream(&format!("/Filter /FlateDecode /DecodeParms << {parameters} >>"), &zlib(&[0; 100]));
        assert_eq!(
            one("a.pdf", &page("4 0 R", &[content, FONT.to_vec()])).unwrap_err(),
            "a.pdf: expected a PDF whose predictors have columns and colours, found none"
        );
    }
}

#[test]
fn letters_of_a_page_are_bounded() {
    let content = format!("BT /F 12 Tf {} ET", format!("({}) Tj ", "a".repeat(1000)).repeat(1100));
    let content = stream("/Filter /FlateDecode", &zlib(content.as_bytes()));
    assert_eq!(
        one("a.pdf", &page("4 0 R", &[content, FONT.to_vec()])).unwrap_err(),
        "a.pdf: expected a PDF of at most 1000000 letters on a page, found more"
    );
}
