//! Execution of a page's text operators.

use super::budget::{Budget, Excess, MAX_LETTERS};
use super::content::without_inline_images;
use super::fonts::{Fonts, letter};
use super::layout::{Drawn, Layout};
use super::matrix::Matrix;
use super::reply::PageText;
use hayro_font::hayro_syntax::content::TypedIter;
use hayro_font::hayro_syntax::content::ops::TypedInstruction;
use hayro_font::hayro_syntax::object::{Dict, Name, Number, Object, Stream, String as Bytes};
use hayro_font::hayro_syntax::page::{Page, Resources};
use hayro_font::{Font, UNITS_PER_EM};

/// Maximum nesting depth of forms.
const MAX_DEPTH: usize = 16;
/// Maximum operators of one page, forms included; bounds forms that draw each other.
const MAX_OPERATORS: usize = 4_000_000;
/// Minimum operators of a page without letters that is a picture.
const DRAWING: usize = 500;
/// Maximum depth of the graphics state stack (`q`); the standard requires 28.
const MAX_STATES: usize = 1000;

/// The graphics state that operators change, and that `q` and `Q` save and restore (PDF 32000-1, sections 8.4 and 9.3).
#[derive(Clone)]
struct State<'a> {
    page: Matrix,
    /// Matrices of the next letter and of the start of its line.
    text: Matrix,
    line: Matrix,
    font: Option<Font<'a>>,
    size: f64,
    letter_space: f64,
    word_space: f64,
    /// Horizontal scaling; 1 for none.
    scale: f64,
    leading: f64,
    rise: f64,
}

impl Default for State<'_> {
    fn default() -> Self {
        let one = Matrix::ONE;
        Self {
            page: one,
            text: one,
            line: one,
            font: None,
            size: 1.0,
            letter_space: 0.0,
            word_space: 0.0,
            scale: 1.0,
            leading: 0.0,
            rise: 0.0,
        }
    }
}

impl State<'_> {
    fn next_line(&mut self, x: f64, y: f64) {
        self.line = self.line.then(Matrix::shift(x, y));
        self.text = self.line;
    }
}

/// Executes the text operators of a page.
pub(super) struct Machine<'f, 'a> {
    fonts: &'f Fonts<'a>,
    layout: Layout,
    operators: usize,
    /// Letters that were drawn.
    letters: usize,
    /// Pictures that were drawn, and their area.
    pictures: usize,
    area: f64,
    budget: &'f mut Budget,
    /// The bound that was exceeded; the page ends there.
    excess: Option<Excess>,
}

impl<'f, 'a> Machine<'f, 'a> {
    pub(super) fn new(fonts: &'f Fonts<'a>, budget: &'f mut Budget) -> Self {
        let layout = Layout::default();
        Self { fonts, layout, operators: 0, letters: 0, pictures: 0, area: 0.0, budget, excess: None }
    }

    /// Executes the operators of `page`.
    pub(super) fn page(&mut self, page: &Page<'a>) {
        let charged = self.budget.page(page);
        if self.within(charged) {
            let operators = without_inline_images(page.page_stream().unwrap_or_default());
            self.run(TypedIter::new(&operators), page.resources(), State::default(), 0);
        }
    }

    /// Executes the form that an annotation looks like, placed by `matrix`. Returns whether it draws letters.
    pub(super) fn appearance(&mut self, form: &Stream<'a>, resources: &Resources<'a>, matrix: Matrix) -> bool {
        let before = self.letters;
        self.form(form, resources, &State { page: matrix, ..State::default() }, 0);
        self.letters > before
    }

    /// Draws lines of text of this height, the first at (x, y).
    pub(super) fn lines(&mut self, text: &str, (x, y): (f64, f64), size: f64) {
        let lines = text.split(['\r', '\n']).filter(|line| !line.is_empty());
        for (number, line) in lines.enumerate() {
            let y = y - 1.2 * size * number as f64;
            for (index, letter) in line.chars().enumerate() {
                let x = x + 0.5 * size * index as f64;
                let (start, end) = ((x, y), (x + 0.5 * size, y));
                let text = Some(letter.to_string());
                self.draw(Drawn { text, start, end, direction: (1.0, 0.0), size, matrix: Matrix::ONE });
            }
        }
    }

    /// The text of the page, of an `area`.
    ///
    /// # Errors
    /// [`Excess`].
    pub(super) fn finish(self, area: f64) -> Result<PageText, Excess> {
        match self.excess {
            Some(excess) => Err(excess),
            None => {
                let pictured = if area > 0.0 { (self.area / area).min(1.0) } else { 0.0 };
                // Letters may be drawn as lines.
                let is_drawing = self.letters == 0 && self.operators > DRAWING;
                let pictures = self.pictures + usize::from(is_drawing);
                Ok(PageText { pictures, pictured, ..self.layout.finish() })
            }
        }
    }

    fn draw(&mut self, drawn: Drawn) {
        self.letters += 1;
        let charged = if self.letters > MAX_LETTERS {
            Err(Excess::Letters)
        } else {
            self.budget.text(drawn.text.as_ref().map_or(0, String::len))
        };
        if self.within(charged) {
            self.layout.letter(drawn);
        }
    }

    fn picture(&mut self, matrix: Matrix) {
        self.pictures += 1;
        self.area += matrix.area();
    }

    fn run(&mut self, mut operators: TypedIter<'_>, resources: &Resources<'a>, start: State<'a>, depth: usize) {
        let mut kept: Vec<State<'a>> = Vec::new();
        let mut state = start;
        while let Some(operator) = operators.next() {
            self.operators += 1;
            if self.operators > MAX_OPERATORS || self.excess.is_some() {
                return;
            }
            match operator {
                TypedInstruction::SaveState(_) if kept.len() >= MAX_STATES => {}
                TypedInstruction::SaveState(_) => kept.push(state.clone()),
                TypedInstruction::RestoreState(_) => state = kept.pop().unwrap_or(state),
                TypedInstruction::Transform(m) => {
                    state.page = state.page.then(matrix([&m.0, &m.1, &m.2, &m.3, &m.4, &m.5]));
                }
                TypedInstruction::XObject(name) if depth < MAX_DEPTH => {
                    if let Some(form) = resources.get_x_object(name.0) {
                        self.form(&form, resources, &state, depth);
                    }
                }
                TypedInstruction::Fallback(operator) if **operator == *b"EI" => self.picture(state.page),
                other => self.text(&other, resources, &mut state),
            }
        }
    }

    /// Whether the budget sufficed; otherwise records the bound that was exceeded.
    fn within(&mut self, charged: Result<(), Excess>) -> bool {
        self.excess = self.excess.or(charged.err());
        self.excess.is_none()
    }

    fn font(&mut self, name: &Name<'_>, resources: &Resources<'a>) -> Option<Font<'a>> {
        let dict = resources.get_font(name)?;
        let font = self.fonts.font(&dict, self.budget);
        font.unwrap_or_else(|excess| {
            self.excess = Some(excess);
            None
        })
    }

    /// Executes a form, which has operators and resources as a page.
    fn form(&mut self, stream: &Stream<'a>, resources: &Resources<'a>, state: &State<'a>, depth: usize) {
        let dict = stream.dict();
        match dict.get::<Name<'_>>(b"Subtype").as_deref() {
            Some(b"Form") => {}
            Some(b"Image") => return self.picture(state.page),
            _ => return,
        }
        let charged = self.budget.form(stream);
        if !self.within(charged) {
            return;
        }
        let Ok(content) = stream.decoded_data() else { return };
        let operators = without_inline_images(&content);
        let own = dict.get::<Dict<'a>>(b"Resources").map(Resources::new);
        let mut state = state.clone();
        state.page = state.page.then(Matrix(dict.get::<[f64; 6]>(b"Matrix").unwrap_or(Matrix::ONE.0)));
        self.run(TypedIter::new(&operators), own.as_ref().unwrap_or(resources), state, depth + 1);
    }

    fn text(&mut self, operator: &TypedInstruction<'_, '_>, resources: &Resources<'a>, state: &mut State<'a>) {
        match operator {
            TypedInstruction::BeginText(_) => (state.text, state.line) = (Matrix::ONE, Matrix::ONE),
            TypedInstruction::SetTextMatrix(m) => {
                state.line = matrix([&m.0, &m.1, &m.2, &m.3, &m.4, &m.5]);
                state.text = state.line;
            }
            TypedInstruction::TextFont(font) => {
                state.font = self.font(font.0, resources);
                state.size = font.1.as_f64();
            }
            TypedInstruction::CharacterSpacing(space) => state.letter_space = space.0.as_f64(),
            TypedInstruction::WordSpacing(space) => state.word_space = space.0.as_f64(),
            TypedInstruction::HorizontalScaling(scale) => state.scale = scale.0.as_f64() / 100.0,
            TypedInstruction::TextLeading(leading) => state.leading = leading.0.as_f64(),
            TypedInstruction::TextRise(rise) => state.rise = rise.0.as_f64(),
            TypedInstruction::NextLine(to) => state.next_line(to.0.as_f64(), to.1.as_f64()),
            TypedInstruction::NextLineAndSetLeading(to) => {
                state.leading = -to.1.as_f64();
                state.next_line(to.0.as_f64(), to.1.as_f64());
            }
            TypedInstruction::NextLineUsingLeading(_) => state.next_line(0.0, -state.leading),
            TypedInstruction::NextLineAndShowText(shown) => {
                state.next_line(0.0, -state.leading);
                self.show(shown.0, state);
            }
            TypedInstruction::ShowTextWithParameters(shown) => {
                (state.word_space, state.letter_space) = (shown.0.as_f64(), shown.1.as_f64());
                state.next_line(0.0, -state.leading);
                self.show(shown.2, state);
            }
            TypedInstruction::ShowText(shown) => self.show(shown.0, state),
            TypedInstruction::ShowTexts(shown) => {
                for piece in shown.0.iter::<Object<'_>>() {
                    match piece {
                        Object::String(bytes) => self.show(&bytes, state),
                        Object::Number(by) => {
                            let by = -by.as_f64() / f64::from(UNITS_PER_EM) * state.size;
                            let is_vertical = state.font.as_ref().is_some_and(|font| !font.is_horizontal());
                            let (x, y) = if is_vertical { (0.0, by) } else { (by * state.scale, 0.0) };
                            state.text = state.text.then(Matrix::shift(x, y));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn show(&mut self, bytes: &Bytes<'_>, state: &mut State<'a>) {
        let Some(font) = state.font.clone() else { return };
        let bytes = bytes.as_bytes();
        let mut at = 0;
        while at < bytes.len() && self.excess.is_none() {
            let (code, length) = font.read_code(bytes, at);
            // A code of no bytes would never end.
            at += length.max(1);
            // Word spacing is for the one-byte code 32 alone (PDF 32000-1, section 9.3.3).
            let space = if code == 32 && length == 1 { state.word_space } else { 0.0 } + state.letter_space;
            let advance = font.code_advance(code) * (state.size / f64::from(UNITS_PER_EM));
            let start = (0.0, state.rise);
            let (end, direction, step) = if font.is_horizontal() {
                let reach = advance.x * state.scale;
                ((reach, state.rise), (state.size * state.scale, 0.0), (reach + space * state.scale, 0.0))
            } else {
                ((0.0, state.rise + advance.y), (0.0, -state.size), (0.0, advance.y + space))
            };
            let matrix = state.page.then(state.text);
            self.draw(Drawn { text: letter(&font, code), start, end, direction, size: state.size, matrix });
            state.text = state.text.then(Matrix::shift(step.0, step.1));
        }
    }
}

fn matrix(numbers: [&Number; 6]) -> Matrix {
    Matrix(numbers.map(Number::as_f64))
}
