//! Streaming detokenisation: whole characters only, cut before a stop text.

/// The text of one reply so far.
#[derive(Debug, Default)]
pub(super) struct Detokenizer {
    /// Bytes that are not yet a whole character.
    pending: Vec<u8>,
    text: String,
    /// Bytes of `text` that were sent.
    sent: usize,
    stop: Vec<String>,
}

impl Detokenizer {
    pub(super) fn new(stop: Vec<String>) -> Self {
        // An empty text would be found everywhere and end each reply at its first token.
        Self { stop: stop.into_iter().filter(|s| !s.is_empty()).collect(), ..Self::default() }
    }

    /// Appends a token's bytes; returns whether a stop text is complete, which ends the reply before it.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        self.pending.extend_from_slice(bytes);
        let before = self.text.len();
        self.take_whole_characters(false);
        // A stop text may have begun earlier, by at most its own length.
        let from = |stop: &str| floor_char(&self.text, before.saturating_sub(stop.len()));
        let found = self.stop.iter().filter_map(|s| self.text[from(s)..].find(s.as_str()).map(|i| i + from(s))).min();
        if let Some(at) = found {
            self.text.truncate(at);
            // Bytes behind the stop text are not part of the reply.
            self.pending.clear();
        }
        found.is_some()
    }

    /// Text that can be sent: everything but a possible beginning of a stop text.
    pub(super) fn ready(&mut self) -> Option<String> {
        let withheld = |stop: &String| {
            (1..stop.len()).rev().find(|&n| stop.is_char_boundary(n) && self.text.ends_with(&stop[..n])).unwrap_or(0)
        };
        let end = self.text.len() - self.stop.iter().map(withheld).max().unwrap_or(0);
        self.send(end)
    }

    /// The text not yet sent, and the whole text. Bytes that never became a character turn into U+FFFD.
    pub(super) fn finish(mut self) -> (Option<String>, String) {
        self.take_whole_characters(true);
        let rest = self.send(self.text.len());
        (rest, self.text)
    }

    fn send(&mut self, end: usize) -> Option<String> {
        let more = self.text.get(self.sent..end).filter(|more| !more.is_empty())?.to_owned();
        self.sent = end;
        Some(more)
    }

    /// Moves characters from bytes to text: broken bytes become U+FFFD, an unfinished character waits.
    fn take_whole_characters(&mut self, last: bool) {
        let bytes = std::mem::take(&mut self.pending);
        let mut rest = &bytes[..];
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.text.push_str(text);
                    return;
                }
                Err(error) => {
                    let (good, bad) = rest.split_at(error.valid_up_to());
                    // Nothing is replaced here: the bytes are valid up to `valid_up_to`.
                    self.text.push_str(&String::from_utf8_lossy(good));
                    match error.error_len() {
                        // Without a length the bytes end within a character, which the next token may complete.
                        None if !last => {
                            self.pending = bad.to_vec();
                            return;
                        }
                        skip => {
                            self.text.push('\u{FFFD}');
                            rest = &bad[skip.unwrap_or(bad.len())..];
                        }
                    }
                }
            }
        }
    }
}

fn floor_char(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_waits_for_its_last_byte() {
        let mut d = Detokenizer::default();
        let snow = "☃".as_bytes();
        assert!(!d.push(&snow[..2]));
        assert_eq!(d.ready(), None);
        d.push(&snow[2..]);
        assert_eq!(d.ready().as_deref(), Some("☃"));
        d.push(&snow[..1]);
        assert_eq!(d.finish(), (Some("\u{FFFD}".into()), "☃\u{FFFD}".into()));
    }

    #[test]
    fn broken_bytes_do_not_delay_later_text() {
        let mut d = Detokenizer::default();
        d.push(b"a\xffb");
        assert_eq!(d.ready().as_deref(), Some("a\u{FFFD}b"));
    }

    #[test]
    fn a_stop_text_over_several_tokens_is_never_sent() {
        let mut d = Detokenizer::new(vec!["END.".into()]);
        assert!(!d.push(b"so E"));
        assert_eq!(d.ready().as_deref(), Some("so "));
        assert!(!d.push(b"ND"));
        assert_eq!(d.ready(), None);
        assert!(d.push(b". more"));
        assert_eq!(d.finish(), (None, "so ".into()));
    }

    #[test]
    fn the_beginning_of_a_stop_text_is_sent_once_the_text_differs() {
        let mut d = Detokenizer::new(vec!["END.".into()]);
        d.push(b"EN");
        assert_eq!(d.ready(), None);
        d.push(b"OUGH");
        assert_eq!(d.ready().as_deref(), Some("ENOUGH"));
    }
}
