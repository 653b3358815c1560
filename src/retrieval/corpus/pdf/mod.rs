//! Text extraction from PDF files, page by page.
//!
//! Objects, streams and fonts are read by hayro, a PDF renderer without `unsafe` that returns errors for broken files. Its
//! fonts map codes to letters and widths. This module executes a page's text operators and derives spaces, lines and
//! paragraphs from the positions of the letters. The program does so in processes of their own (`worker`).

mod budget;
mod content;
mod decode;
mod extract;
mod fields;
mod fonts;
mod hyphens;
mod inflate;
mod layout;
mod lexer;
mod losses;
mod machine;
mod matrix;
mod output;
mod packed;
mod page_tree;
mod reply;
mod strings;
mod widths;
mod worker;

pub(super) use worker::end_idle;
pub use worker::{PDF_WORKER, PdfWorkers, pdf_workers, read_pdf_in, serve_pdf};

use super::document::{Document, Fields, Position};
use super::entry::Entry;
use super::notes::Notes;
use super::reader::Reader;
use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::retrieval::text::{self, input};
use reply::{PageText, PdfText};

/// The pages of a PDF file.
pub(super) struct Pages {
    entry: Entry,
    /// The remaining pages, once the file was read.
    pages: Option<std::vec::IntoIter<Document>>,
    notes: Notes,
    cancel: Cancel,
}

impl Pages {
    /// The pages of `entry`; once `cancel` is cancelled they are not waited for.
    pub(super) fn new(entry: Entry, cancel: &Cancel) -> Self {
        Self { entry, pages: None, notes: Notes::default(), cancel: cancel.clone() }
    }

    fn read(&mut self) -> Result<Vec<Document>> {
        let path = &self.entry.path;
        let bytes = text::bytes(path, extract::MAX_FILE)?;
        let read = worker::read(&bytes, &self.cancel).unwrap_or_else(|| extract::read(bytes));
        if self.cancel.is_cancelled() {
            return Err(MootError::Interrupted);
        }
        let pdf = read.map_err(|refusal| input(path, None, &refusal.expected, refusal.found))?;
        let PdfText { title, pages: texts, counted, is_cut } = pdf;
        let pages = texts.len();
        if texts.iter().all(|page| page.text.trim().is_empty()) {
            let unnamed: usize = texts.iter().map(|page| page.unknown).sum();
            let on = format!("(on {pages} {})", if pages == 1 { "page" } else { "pages" });
            let what = match () {
                () if unnamed > 0 => format!("{unnamed} letters without a Unicode value in its fonts {on}"),
                () if pages == 0 => "no page that can be read".to_owned(),
                () if texts.iter().any(|page| page.pictures > 0) => format!("only pictures {on}"),
                () => format!("nothing that can be read {on}"),
            };
            return Err(input(path, None, "a PDF with text", what));
        }
        losses::note(&texts, &mut self.notes);
        losses::note_damage(pages, counted, is_cut, &mut self.notes);
        let page = |(page, number): (PageText, u32)| {
            let fields = Fields { title: title.clone(), ..Fields::default() };
            Document::new(&self.entry, fields, page.text, Position::Page(number))
        };
        Ok(texts.into_iter().zip(1..).filter(|(page, _)| !page.text.trim().is_empty()).map(page).collect())
    }
}

impl Reader for Pages {
    fn next(&mut self) -> Option<Result<Document>> {
        if self.pages.is_none() {
            match self.read() {
                Ok(pages) => self.pages = Some(pages.into_iter()),
                Err(e) => {
                    self.pages = Some(Vec::new().into_iter());
                    return Some(Err(e));
                }
            }
        }
        self.pages.as_mut()?.next().map(Ok)
    }

    fn bytes(&self) -> u64 {
        if self.pages.is_some() { self.entry.length } else { 0 }
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }
}
