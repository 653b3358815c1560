//! Text assembled from runs of letters: white space within a run is collapsed, breaks between runs are kept.

/// White space between two runs of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    None,
    Space,
    Line,
    Paragraph,
}

impl Gap {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Space => " ",
            Self::Line => "\n",
            Self::Paragraph => "\n\n",
        }
    }
}

/// Maximum bytes of a title or an author: each document and each passage has its own copy.
pub(super) const MAX_TITLE: usize = 1000;

/// The words of `text` with single spaces, as many as [`MAX_TITLE`] bytes hold.
pub(super) fn first_words(text: &str) -> String {
    words_within(text, MAX_TITLE)
}

/// The words of `text` with single spaces, as many as fewer than `most` bytes hold. Of a first word that is longer its beginning
/// is kept: some scripts put no spaces between words.
pub(super) fn words_within(text: &str, most: usize) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if words.len() + word.len() >= most {
            if words.is_empty() {
                let end = (0..most).rev().find(|end| word.is_char_boundary(*end)).unwrap_or(0);
                words.push_str(&word[..end]);
            }
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    words
}

/// A text being assembled.
#[derive(Debug)]
pub(super) struct Flow {
    text: String,
    /// White space since the last letter; the widest counts.
    gap: Gap,
}

impl Default for Flow {
    fn default() -> Self {
        Self { text: String::new(), gap: Gap::None }
    }
}

impl Flow {
    /// Adds `text` with white space collapsed.
    pub(super) fn push(&mut self, text: &str) {
        for word in text.split_inclusive(char::is_whitespace) {
            let bare = word.trim_end();
            if !bare.is_empty() {
                if !self.text.is_empty() {
                    self.text.push_str(self.gap.text());
                }
                self.gap = Gap::None;
                self.text.push_str(bare);
            }
            if bare.len() < word.len() {
                self.widen(Gap::Space);
            }
        }
    }

    /// Records white space.
    pub(super) fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// The text, without white space at its ends.
    pub(super) fn finish(self) -> String {
        self.text
    }
}
