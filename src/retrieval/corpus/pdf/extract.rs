//! The text of a PDF file.

use super::budget::{Budget, Excess};
use super::fields::Fields;
use super::fonts::Fonts;
use super::hyphens;
use super::machine::Machine;
use super::packed;
use super::reply::{PdfText, Refusal, Reply};
use super::strings;
use hayro_font::hayro_syntax::object::Dict;
use hayro_font::hayro_syntax::{LoadPdfError, Pdf};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximum bytes of a PDF file. The limit is high because images make files long.
pub(super) const MAX_FILE: u64 = 512 << 20;

/// How a file ends, and the bytes at its end in which that is (PDF 32000-1, section H.3).
const END: &[u8] = b"%%EOF";
const TRAILER: usize = 1024;

/// The text of the file `bytes`, page by page.
///
/// # Errors
/// [`Refusal`].
pub(super) fn read(bytes: Vec<u8>) -> Reply {
    // A panic in the library fails this file alone.
    let read = catch_unwind(AssertUnwindSafe(|| text(bytes)));
    match read {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(Unread::Excess(excess))) => Err(excess.refusal()),
        Ok(Err(Unread::Pdf(LoadPdfError::Decryption(_)))) => {
            Err(Refusal::new("a PDF that opens without a password", "an encrypted one"))
        }
        Ok(Err(Unread::Pdf(LoadPdfError::Invalid))) => Err(Refusal::new("a PDF", "something else, or a broken one")),
        Err(_) => Err(Refusal::new("a PDF that can be read", "one that makes the PDF reader panic")),
    }
}

/// Reason why a file could not be read.
enum Unread {
    Pdf(LoadPdfError),
    Excess(Excess),
}

impl From<LoadPdfError> for Unread {
    fn from(error: LoadPdfError) -> Self {
        Self::Pdf(error)
    }
}

impl From<Excess> for Unread {
    fn from(excess: Excess) -> Self {
        Self::Excess(excess)
    }
}

fn text(bytes: Vec<u8>) -> Result<PdfText, Unread> {
    let mut budget = Budget::new();
    packed::measure(&bytes, &mut budget)?;
    let is_cut = !bytes[bytes.len().saturating_sub(TRAILER)..].windows(END.len()).any(|part| part == END);
    let pdf = Pdf::new(bytes)?;
    let fonts = Fonts::new();
    let fields = Fields::of(&pdf);
    let mut pages = Vec::new();
    for page in pdf.pages().iter() {
        let mut machine = Machine::new(&fonts, &mut budget);
        machine.page(page);
        fields.draw(page, &mut machine);
        let size = page.intersected_crop_box();
        pages.push(machine.finish(size.width() * size.height())?);
    }
    hyphens::join(&mut pages);
    // The date in the metadata is left out: it is the file's, not the document's.
    let title = pdf.metadata().title.as_deref().and_then(strings::title);
    Ok(PdfText { title, pages, counted: counted(&pdf), is_cut })
}

/// The number of pages by the page tree; 0 where it does not say.
fn counted(pdf: &Pdf) -> usize {
    let catalog = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id());
    let tree = catalog.and_then(|catalog| catalog.get::<Dict<'_>>(b"Pages"));
    tree.and_then(|tree| tree.get::<u32>(b"Count")).map_or(0, |count| count as usize)
}
