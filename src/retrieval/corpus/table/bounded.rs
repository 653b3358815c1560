//! The text of a table, bounded by record.

use crate::charset::Transcoder;
use crate::jsonl::MAX_LINE;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

/// A table whose records may take at most [`MAX_LINE`] bytes each: an unclosed quotation mark turns the rest of it into one
/// record.
pub(super) struct Bounded {
    text: Transcoder<File>,
    /// Bytes read since the last record was returned.
    since: AtomicU64,
    /// Where quotation marks mean something.
    quotes: Option<Quotes>,
    /// Lines end with a carriage return, which is read as a line feed: lines are counted by those.
    returns: bool,
    ended: bool,
    /// Lines that are read as if they were empty.
    dropped: Vec<usize>,
    /// The line of the next byte, from 1.
    line: usize,
    /// Bytes read.
    length: u64,
    /// Offsets of the line feeds that were read and not passed.
    line_feeds: VecDeque<u64>,
}

impl Bounded {
    /// Quotation marks mean something where there is a `delimiter` that they protect. The lines `dropped` are read as if they
    /// were empty.
    pub(super) fn new(text: Transcoder<File>, delimiter: Option<u8>, returns: bool, dropped: &[usize]) -> Self {
        let (quotes, since, dropped) = (delimiter.map(Quotes::new), AtomicU64::default(), dropped.to_vec());
        Self { text, since, quotes, returns, ended: false, dropped, line: 1, length: 0, line_feeds: VecDeque::new() }
    }

    /// Notes on the character set.
    pub(super) fn notes(&self) -> Vec<String> {
        self.text.notes()
    }

    /// A record was returned.
    pub(super) fn returned(&self) {
        self.since.store(0, Ordering::Relaxed);
    }

    /// The reader has passed the bytes before `end`: whether the last of them is a line feed.
    pub(super) fn pass(&mut self, end: u64) -> bool {
        let mut last = None;
        while self.line_feeds.front().is_some_and(|at| *at < end) {
            last = self.line_feeds.pop_front();
        }
        last.is_some_and(|at| at + 1 == end)
    }

    /// The quotation mark that was not closed when the table ended, or that opened a field which ends, lines later and before
    /// `until`, with a mark in front of text: that mark was to open a field of its own.
    pub(super) fn unclosed(&mut self, until: u64) -> Option<Unclosed> {
        let ended = self.ended;
        let quotes = self.quotes.as_mut()?;
        let first = quotes.joined.front().copied().filter(|(_, closed)| (*closed as u64) < until);
        while quotes.joined.front().is_some_and(|(_, closed)| (*closed as u64) < until) {
            quotes.joined.pop_front();
        }
        match first {
            Some((opened, closed)) => Some(Unclosed { opened, lines: (closed - opened) as u64, at_end: false }),
            None => quotes.unclosed().filter(|_| ended),
        }
    }

    /// Takes the bytes of dropped lines out of `bytes`, but for the line ends, and returns the number of the others.
    fn keep(&mut self, bytes: &mut [u8]) -> usize {
        if self.dropped.is_empty() {
            return bytes.len();
        }
        let mut kept = 0;
        for at in 0..bytes.len() {
            let ends = bytes[at] == b'\n';
            if ends || !self.dropped.contains(&self.line) {
                bytes[kept] = bytes[at];
                kept += 1;
            }
            self.line += usize::from(ends);
        }
        kept
    }
}

/// A quotation mark that opens a field and does not close it.
pub(super) struct Unclosed {
    /// Its line, from 1.
    pub(super) opened: usize,
    /// Lines that it takes into the field.
    pub(super) lines: u64,
    /// It is not closed before the end of the table.
    pub(super) at_end: bool,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since.load(Ordering::Relaxed) > MAX_LINE {
            let found = format!("one of more than {MAX_LINE} bytes: a quotation mark is not closed");
            return Err(io::Error::new(io::ErrorKind::InvalidData, found));
        }
        let read = loop {
            let read = self.text.read(buffer)?;
            if self.returns {
                buffer[..read].iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
            }
            let kept = self.keep(&mut buffer[..read]);
            if kept > 0 || read == 0 {
                break kept;
            }
        };
        self.since.fetch_add(read as u64, Ordering::Relaxed);
        // Nothing read into no room is not the end.
        self.ended |= read == 0 && !buffer.is_empty();
        let line_feeds = (self.length..).zip(&buffer[..read]).filter(|(_, byte)| **byte == b'\n');
        self.line_feeds.extend(line_feeds.map(|(at, _)| at));
        self.length += read as u64;
        if let Some(quotes) = &mut self.quotes {
            buffer[..read].iter().for_each(|byte| quotes.byte(*byte));
        }
        Ok(read)
    }
}

/// Follows the quotation marks of a table (RFC 4180; a mark within a field without them is text).
struct Quotes {
    delimiter: u8,
    state: State,
    /// From 1.
    line: usize,
    /// Of the last mark that opened a field.
    opened: usize,
    /// Fields of several lines that end with a mark in front of text: the lines of both marks.
    joined: VecDeque<(usize, usize)>,
    /// Bytes of a byte-order mark that may still come.
    mark: &'static [u8],
    at_line_start: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// A field begins.
    Start,
    Bare,
    Quoted,
    /// Behind a mark in a quoted field: its end, or half of a doubled mark.
    Mark,
}

impl Quotes {
    fn new(delimiter: u8) -> Self {
        let (line, opened, mark) = (1, 1, b"\xef\xbb\xbf");
        Self { delimiter, state: State::Start, line, opened, joined: VecDeque::new(), mark, at_line_start: true }
    }

    fn byte(&mut self, byte: u8) {
        if let Some((first, rest)) = self.mark.split_first() {
            self.mark = if *first == byte { rest } else { &[] };
            if *first == byte {
                return;
            }
        }
        let ends = byte == self.delimiter || matches!(byte, b'\n' | b'\r');
        self.state = match (self.state, byte) {
            (State::Start, b'"') => {
                self.opened = self.line;
                State::Quoted
            }
            (State::Quoted, b'"') => State::Mark,
            (State::Mark, b'"') | (State::Quoted, _) => State::Quoted,
            (State::Mark, _) if !ends && !byte.is_ascii_whitespace() && self.line > self.opened => {
                self.joined.push_back((self.opened, self.line));
                State::Bare
            }
            _ if ends => State::Start,
            _ => State::Bare,
        };
        self.line += usize::from(byte == b'\n');
        self.at_line_start = byte == b'\n';
    }

    fn unclosed(&self) -> Option<Unclosed> {
        let lines = ((self.line - self.opened + usize::from(!self.at_line_start)) as u64).max(1);
        (self.state == State::Quoted).then_some(Unclosed { opened: self.opened, lines, at_end: true })
    }
}
