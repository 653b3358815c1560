//! Small PDF files.

use std::fmt::Write as _;

/// Objects after the catalog (1), the page tree (2), the fonts Helvetica (3) and ZapfDingbats (4).
pub(crate) struct File {
    objects: Vec<Vec<u8>>,
    pages: Vec<usize>,
    catalog: String,
}

impl File {
    pub(crate) fn new() -> Self {
        let fonts = [
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
            "<< /Type /Font /Subtype /Type1 /BaseFont /ZapfDingbats >>",
        ];
        let objects = ["", ""].iter().chain(&fonts).map(|object| object.as_bytes().to_vec()).collect();
        Self { objects, pages: Vec::new(), catalog: String::new() }
    }

    /// Adds an object and returns its number.
    pub(crate) fn object(&mut self, object: impl Into<Vec<u8>>) -> usize {
        self.objects.push(object.into());
        self.objects.len()
    }

    pub(crate) fn stream(&mut self, dict: &str, data: impl AsRef<[u8]>) -> usize {
        let data = data.as_ref();
        let mut object = format!("<< {dict} /Length {} >>\nstream\n", data.len()).into_bytes();
        object.extend_from_slice(data);
        object.extend_from_slice(b"\nendstream");
        self.object(object)
    }

    /// Adds entries to the catalog.
    pub(crate) fn catalog(&mut self, entries: &str) {
        self.catalog.push_str(entries);
    }

    /// Adds a page with the fonts `/F` (Helvetica), `/Z` and those of `fonts`, and these entries.
    pub(crate) fn page_with(&mut self, content: impl AsRef<[u8]>, fonts: &str, entries: &str) {
        let content = self.stream("", content);
        let page = self.object(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {content} 0 R {entries} \
             /Resources << /Font << /F 3 0 R /Z 4 0 R {fonts} >> /XObject << /X 5 0 R >> >> >>"
        ));
        self.pages.push(page);
    }

    pub(crate) fn page(&mut self, content: impl AsRef<[u8]>) {
        self.page_with(content, "", "");
    }

    pub(crate) fn bytes(mut self) -> Vec<u8> {
        let kids: String = self.pages.iter().fold(String::new(), |mut kids, page| {
            write!(kids, "{page} 0 R ").unwrap();
            kids
        });
        self.objects[0] = format!("<< /Type /Catalog /Pages 2 0 R {} >>", self.catalog).into_bytes();
        self.objects[1] = format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", self.pages.len()).into_bytes();
        let mut file = b"%PDF-1.7\n".to_vec();
        for (object, number) in self.objects.iter().zip(1..) {
            file.extend_from_slice(format!("{number} 0 obj\n").as_bytes());
            file.extend_from_slice(object);
            file.extend_from_slice(b"\nendobj\n");
        }
        file.extend_from_slice(b"trailer << /Root 1 0 R >>\n%%EOF");
        file
    }
}

/// Draws a text in Helvetica.
pub(crate) fn at(x: f64, y: f64, size: f64, text: &str) -> String {
    format!("BT /F {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n")
}

/// Draws lines below each other.
pub(crate) fn lines(x: f64, y: f64, size: f64, leading: f64, lines: &[&str]) -> String {
    lines.iter().enumerate().map(|(number, line)| at(x, y - leading * number as f64, size, line)).collect()
}

/// Draws rows of cells, each row from left to right.
pub(crate) fn rows(xs: &[f64], y: f64, size: f64, leading: f64, rows: &[&[&str]]) -> String {
    let row = |(number, cells): (usize, &&[&str])| -> String {
        let y = y - leading * number as f64;
        cells.iter().zip(xs).filter(|(cell, _)| !cell.is_empty()).map(|(cell, x)| at(*x, y, size, cell)).collect()
    };
    rows.iter().enumerate().map(row).collect()
}

/// A file of one page.
pub(crate) fn one_page(content: &str) -> Vec<u8> {
    let mut file = File::new();
    file.page(content);
    file.bytes()
}

/// Adds a font whose codes, of two bytes, are the UTF-16 of its letters; each is half as wide as high, marks excepted.
pub(crate) fn unicode_font(file: &mut File) -> usize {
    let map = file.stream(
        "",
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def 1 begincodespacerange \
         <0000> <FFFF> endcodespacerange 1 beginbfrange <0000> <FFFF> <0000> endbfrange endcmap end end",
    );
    let descendant = file.object(
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any /DW 500 /W [768 [0 0 0 0 0 0 0 0 0]] /CIDSystemInfo \
         << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
    );
    file.object(format!(
        "<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-H /DescendantFonts [{descendant} 0 R] \
         /ToUnicode {map} 0 R >>"
    ))
}

/// The letters of a text as a string of [`unicode_font`].
pub(crate) fn hex(text: &str) -> String {
    text.encode_utf16().fold(String::new(), |mut hex, unit| {
        write!(hex, "{unit:04x}").unwrap();
        hex
    })
}
