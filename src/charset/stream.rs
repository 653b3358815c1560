//! Files that are read record by record, in any character set.

use super::{Choice, choose, decode, lost_note};
use encoding_rs::{CoderResult, Decoder, UTF_8};
use std::fs::File;
use std::io::{self, Read, Seek};

/// Bytes of a file that are looked at for its character set.
const SAMPLE: usize = 16 << 20;
/// Bytes decoded at once.
const BUFFER: usize = 1 << 16;

/// A file as UTF-8, whatever its character set. A byte-order mark stays. A file in UTF-8 is passed on as it is, so that its reader
/// sees broken characters.
pub(crate) struct Transcoder<R> {
    inner: R,
    choice: Choice,
    /// None for UTF-8.
    decoder: Option<Decoder>,
    raw: Vec<u8>,
    /// Decoded bytes, and how many of them were read.
    ready: String,
    taken: usize,
    ended: bool,
    /// Characters that could not be decoded.
    lost: u64,
}

/// The file behind `file`, which is read from its beginning. JSON and tables declare no character set.
///
/// # Errors
/// Reading fails; the inner error describes the content found instead of text.
pub(crate) fn transcoder(mut file: File) -> io::Result<Result<Transcoder<File>, String>> {
    let mut sample = Vec::new();
    (&mut file).take(SAMPLE as u64).read_to_end(&mut sample)?;
    file.rewind()?;
    if sample.len() == SAMPLE {
        // At a line end, which is between two characters of every set.
        let end = sample.iter().rposition(|&b| b == b'\n').unwrap_or(SAMPLE);
        sample.truncate(if sample.contains(&0) { end & !1 } else { end });
    }
    let choice = choose(&sample, None).and_then(|choice| match choice.note() {
        // Bytes that are text in no set are refused here.
        Some(_) => decode(sample, None).map(|_| choice),
        None => Ok(choice),
    });
    Ok(choice.map(|choice| Transcoder::new(file, choice)))
}

impl<R: Read> Transcoder<R> {
    fn new(inner: R, choice: Choice) -> Self {
        let decoder = (choice.encoding != UTF_8).then(|| choice.encoding.new_decoder_without_bom_handling());
        Self { inner, choice, decoder, raw: Vec::new(), ready: String::new(), taken: 0, ended: false, lost: 0 }
    }

    /// Assumptions and losses so far; for the notes on the file.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.choice.note().into_iter().chain(lost_note(self.lost, self.choice.encoding.name())).collect()
    }

    /// Decodes the next bytes of the file.
    fn fill(&mut self) -> io::Result<()> {
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        self.ready.clear();
        self.taken = 0;
        while self.ready.is_empty() && !self.ended {
            self.raw.resize(BUFFER, 0);
            let read = self.inner.read(&mut self.raw)?;
            self.ended = read == 0;
            let room = decoder.max_utf8_buffer_length(read).unwrap_or(4 * BUFFER);
            self.ready.reserve(room);
            let (result, _, _) = decoder.decode_to_string(&self.raw[..read], &mut self.ready, self.ended);
            debug_assert!(matches!(result, CoderResult::InputEmpty));
            self.lost += self.ready.matches(char::REPLACEMENT_CHARACTER).count() as u64;
        }
        Ok(())
    }
}

impl<R: Read> Read for Transcoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.decoder.is_none() {
            return self.inner.read(buffer);
        }
        if self.taken == self.ready.len() {
            self.fill()?;
        }
        let left = &self.ready.as_bytes()[self.taken..];
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::transcoder;
    use encoding_rs::WINDOWS_1251;
    use std::io::{Read, Write};

    #[test]
    fn records_in_any_character_set() {
        let text = "id,text\n1,\"Паром через Ладу впервые отплыл в 1904 году\"\n".repeat(20_000);
        let utf16: Vec<u8> = "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let cases = [
            (text.clone().into_bytes(), text.clone(), 0),
            (WINDOWS_1251.encode(&text).0.into_owned(), text.clone(), 1),
            (utf16, format!("\u{feff}{text}"), 0),
        ];
        for (bytes, expected, notes) in cases {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            std::io::Seek::rewind(&mut file).unwrap();
            let mut reader = transcoder(file).unwrap().unwrap_or_else(|found| panic!("{found}"));
            let mut read = String::new();
            reader.read_to_string(&mut read).unwrap();
            assert!(read == expected);
            assert_eq!(reader.notes().len(), notes);
        }
    }
}
