//! Values of form fields, and text that annotations draw on a page.
//!
//! A field's value is in its appearance, a form that is drawn over the page, or only in its entry `V`, for the viewer to draw.

use super::machine::Machine;
use super::matrix::Matrix;
use super::strings;
use hayro_font::hayro_syntax::Pdf;
use hayro_font::hayro_syntax::object::{Array, Dict, Name, Object, Rect, Stream, String as Bytes};
use hayro_font::hayro_syntax::page::{Page, Resources};

/// Maximum annotations of a page.
const MAX_ANNOTATIONS: usize = 10_000;
/// Maximum depth from a field to the one that it inherits its value from.
const MAX_PARENTS: usize = 16;
/// Flags of an annotation that is not seen: hidden, not viewed (PDF 32000-1, table 165).
const UNSEEN: u32 = 1 << 1 | 1 << 5;
/// Flag of a field for passwords (table 228), and of a button that has no state (table 226).
const PASSWORD: u32 = 1 << 13;
const PUSH_BUTTON: u32 = 1 << 16;
/// The text of a checked box, as most appearances draw it.
const ON: &str = "\u{2714}";

/// The form of a document.
pub(super) struct Fields<'a> {
    /// Resources of appearances that have none.
    resources: Option<Resources<'a>>,
    /// The appearances in the file may be old.
    is_outdated: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn of(pdf: &'a Pdf) -> Self {
        let catalog = pdf.xref().get::<Dict<'a>>(pdf.xref().root_id());
        let form = catalog.and_then(|catalog| catalog.get::<Dict<'a>>(b"AcroForm"));
        let resources = form.as_ref().and_then(|form| form.get::<Dict<'a>>(b"DR")).map(Resources::new);
        let is_outdated = form.and_then(|form| form.get::<bool>(b"NeedAppearances")).unwrap_or(false);
        Self { resources, is_outdated }
    }

    /// Draws the fields and texts that `page` shows.
    pub(super) fn draw(&self, page: &Page<'a>, machine: &mut Machine<'_, 'a>) {
        let Some(annotations) = page.raw().get::<Array<'a>>(b"Annots") else { return };
        for annotation in annotations.iter::<Dict<'a>>().take(MAX_ANNOTATIONS) {
            let kind = annotation.get::<Name<'_>>(b"Subtype");
            let is_field = kind.as_deref() == Some(b"Widget");
            let is_text = is_field || kind.as_deref() == Some(b"FreeText");
            let flags = annotation.get::<u32>(b"F").unwrap_or(0);
            let Some(area) = annotation.get::<Rect>(b"Rect").filter(|_| is_text && flags & UNSEEN == 0) else {
                continue;
            };
            let value = if is_field { value(&annotation) } else { text(&annotation, b"Contents") };
            let is_drawn = !(self.is_outdated && is_field && value.is_some())
                && appearance(&annotation).is_some_and(|form| {
                    let resources = self.resources.as_ref().unwrap_or(page.resources());
                    machine.appearance(&form, resources, mapped(&form, area))
                });
            if let Some(value) = value.filter(|_| !is_drawn) {
                let size = (0.75 * area.height()).clamp(4.0, 12.0);
                let is_line = area.height() < 2.0 * size;
                let top = if is_line { area.y0 + (area.height() - size) / 2.0 + 0.2 * size } else { area.y1 - size };
                machine.lines(&value, (area.x0 + 2.0, top), size);
            }
        }
    }
}

/// The form that an annotation looks like in its present state.
fn appearance<'a>(annotation: &Dict<'a>) -> Option<Stream<'a>> {
    match annotation.get::<Dict<'a>>(b"AP")?.get::<Object<'a>>(b"N")? {
        Object::Stream(form) => Some(form),
        Object::Dict(states) => states.get(&*annotation.get::<Name<'_>>(b"AS")?),
        _ => None,
    }
}

/// The text of an entry.
fn text(dict: &Dict<'_>, entry: &[u8]) -> Option<String> {
    dict.get::<Bytes<'_>>(entry).map(|text| strings::decoded(text.as_bytes())).filter(|text| !text.trim().is_empty())
}

/// The text of a field for text or a choice, which it may inherit, and the sign of a box that is on; `None` if it has none, or is
/// for a password.
fn value(field: &Dict<'_>) -> Option<String> {
    let mut chain = vec![field.clone()];
    while chain.len() < MAX_PARENTS
        && let Some(parent) = chain.last().and_then(|field| field.get::<Dict<'_>>(b"Parent"))
    {
        chain.push(parent);
    }
    let kind = chain.iter().find_map(|field| field.get::<Name<'_>>(b"FT"))?;
    let flags = chain.iter().find_map(|field| field.get::<u32>(b"Ff")).unwrap_or(0);
    if &*kind == b"Btn" && flags & PUSH_BUTTON == 0 {
        let state = field.get::<Name<'_>>(b"AS").or_else(|| chain.iter().find_map(|field| field.get(b"V")))?;
        return (&*state != b"Off").then(|| ON.to_owned());
    }
    if !matches!(&*kind, b"Tx" | b"Ch") || (&*kind == b"Tx" && flags & PASSWORD != 0) {
        return None;
    }
    let text = match chain.iter().find_map(|field| field.get::<Object<'_>>(b"V"))? {
        Object::String(text) => strings::decoded(text.as_bytes()),
        Object::Array(chosen) => {
            let chosen = chosen.iter::<Bytes<'_>>().map(|text| strings::decoded(text.as_bytes()));
            chosen.collect::<Vec<_>>().join(", ")
        }
        _ => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

/// The matrix that maps a form to `area` (PDF 32000-1, section 12.5.5); the form's own matrix is applied before.
fn mapped(form: &Stream<'_>, area: Rect) -> Matrix {
    let dict = form.dict();
    let matrix = Matrix(dict.get::<[f64; 6]>(b"Matrix").unwrap_or(Matrix::ONE.0));
    let Some(bounds) = dict.get::<Rect>(b"BBox") else { return Matrix::shift(area.x0, area.y0) };
    let corners = [(bounds.x0, bounds.y0), (bounds.x1, bounds.y0), (bounds.x0, bounds.y1), (bounds.x1, bounds.y1)];
    let corners = corners.map(|corner| matrix.point(corner));
    let least = |numbers: [f64; 4]| numbers.into_iter().fold(f64::INFINITY, f64::min);
    let most = |numbers: [f64; 4]| numbers.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let (x0, y0) = (least(corners.map(|corner| corner.0)), least(corners.map(|corner| corner.1)));
    let (x1, y1) = (most(corners.map(|corner| corner.0)), most(corners.map(|corner| corner.1)));
    let scale = |to: f64, from: f64| if from > 0.0 { to / from } else { 1.0 };
    let (sx, sy) = (scale(area.width(), x1 - x0), scale(area.height(), y1 - y0));
    Matrix([sx, 0.0, 0.0, sy, area.x0 - sx * x0, area.y0 - sy * y0])
}
