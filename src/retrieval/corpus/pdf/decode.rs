//! Decoded length of a stream, computed within a bound.
//!
//! hayro-syntax has no limit: three nested FlateDecodes turn 1,000 bytes into 10 GB. So every stream is decoded here
//! before hayro decodes it, with the same leniency and with a limit.

use super::inflate::inflate;
use super::output::{MAX_STREAM, Output, TooLarge};
use std::borrow::Cow;

/// Maximum filters of one stream; real files have one or two.
const MAX_FILTERS: usize = 8;

/// A filter of streams (PDF 32000-1, section 7.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    Flate,
    Lzw,
    RunLength,
    Hex,
    Base85,
    /// Leaves data unchanged.
    Crypt,
    /// An image filter; images are not decoded.
    Picture,
}

impl Filter {
    /// The filter of this name or abbreviation; `None` for an unknown one, which hayro ignores.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"FlateDecode" | b"Fl" => Self::Flate,
            b"LZWDecode" | b"LZW" => Self::Lzw,
            b"RunLengthDecode" | b"RL" => Self::RunLength,
            b"ASCIIHexDecode" | b"AHx" => Self::Hex,
            b"ASCII85Decode" | b"A85" => Self::Base85,
            b"Crypt" => Self::Crypt,
            b"DCTDecode" | b"DCT" | b"JPXDecode" | b"JBIG2Decode" | b"CCITTFaxDecode" | b"CCF" => Self::Picture,
            _ => return None,
        })
    }

    /// Whether the filter's output can be longer than its input.
    pub(super) fn expands(self) -> bool {
        matches!(self, Self::Flate | Self::Lzw | Self::RunLength | Self::Base85)
    }
}

/// Length of `data` decoded by `filters`.
///
/// # Errors
/// [`TooLarge`].
pub(super) fn decoded_length(filters: &[Filter], early: bool, data: &[u8]) -> Result<usize, TooLarge> {
    decoded(filters, early, data).map(|decoded| decoded.len())
}

/// `data` decoded by `filters`, without predictors; empty if it is a picture.
///
/// # Errors
/// [`TooLarge`].
pub(super) fn decoded<'d>(filters: &[Filter], early: bool, data: &'d [u8]) -> Result<Cow<'d, [u8]>, TooLarge> {
    if filters.len() > MAX_FILTERS {
        return Err(TooLarge);
    }
    let mut held = Cow::Borrowed(data);
    for filter in filters {
        let mut output = Output::default();
        match filter {
            Filter::Picture => return Ok(Cow::Borrowed(&[])),
            Filter::Crypt => continue,
            Filter::Flate => inflate(&held, &mut output)?,
            Filter::Lzw => lzw(&held, early, &mut output)?,
            Filter::RunLength => run_length(&held, &mut output)?,
            Filter::Hex => hex(&held, &mut output)?,
            Filter::Base85 => base85(&held, &mut output)?,
        }
        held = Cow::Owned(output.into_bytes());
    }
    if held.len() > MAX_STREAM { Err(TooLarge) } else { Ok(held) }
}

fn run_length(data: &[u8], output: &mut Output) -> Result<(), TooLarge> {
    let mut rest = data;
    while let Some((&length, after)) = rest.split_first() {
        // 128 ends the data, and a larger number repeats one byte (PDF 32000-1, section 7.4.5).
        match length {
            128 => break,
            0..128 => {
                let Some((bytes, after)) = after.split_at_checked(usize::from(length) + 1) else { break };
                output.extend(bytes)?;
                rest = after;
            }
            _ => {
                let Some((&byte, after)) = after.split_first() else { break };
                output.extend(&[byte; 128][..257 - usize::from(length)])?;
                rest = after;
            }
        }
    }
    Ok(())
}

fn hex(data: &[u8], output: &mut Output) -> Result<(), TooLarge> {
    let digits: Vec<u8> = data
        .iter()
        .take_while(|&&byte| byte != b'>')
        .filter_map(|&byte| char::from(byte).to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    // An odd last digit stands before a 0 (PDF 32000-1, section 7.4.2).
    digits.chunks(2).try_for_each(|pair| output.push(pair[0] << 4 | pair.get(1).copied().unwrap_or(0)))
}

fn base85(data: &[u8], output: &mut Output) -> Result<(), TooLarge> {
    let (mut group, mut count) = (0_u32, 0_usize);
    for &byte in data {
        match byte {
            b'!'..=b'u' => {
                group = group.wrapping_mul(85).wrapping_add(u32::from(byte - b'!'));
                count += 1;
                if count == 5 {
                    output.extend(&group.to_be_bytes())?;
                    (group, count) = (0, 0);
                }
            }
            // hayro ends an incomplete group here, with fewer bytes than are counted.
            b'z' => output.extend(&[0; 8])?,
            b'~' => break,
            _ => {}
        }
    }
    // A last group of n characters has n - 1 bytes; it is read as if `u`, which is 84, filled it.
    for _ in count..5 {
        group = group.wrapping_mul(85).wrapping_add(84);
    }
    output.extend(&group.to_be_bytes()[..count.saturating_sub(1)])
}

fn lzw(data: &[u8], early: bool, output: &mut Output) -> Result<(), TooLarge> {
    const CLEAR: usize = 256;
    const END: usize = 257;
    // For each code from 258 on: start and length of its bytes in the output.
    let mut entries: Vec<(usize, usize)> = Vec::new();
    let mut previous: Option<(usize, usize)> = None;
    let (mut held, mut count, mut bytes) = (0_u32, 0_u32, data.iter());
    loop {
        // The width grows one code early, unless EarlyChange is 0 (PDF 32000-1, section 7.4.4.3).
        let adjusted = 258 + entries.len() + usize::from(early);
        let width = 9 + [512, 1024, 2048].iter().filter(|&&from| adjusted >= from).count() as u32;
        while count < width {
            let Some(&byte) = bytes.next() else { return Ok(()) };
            held = held << 8 | u32::from(byte);
            count += 8;
        }
        count -= width;
        let code = (held >> count & ((1 << width) - 1)) as usize;
        let at = output.len();
        match code {
            CLEAR => {
                entries.clear();
                previous = None;
                continue;
            }
            END => return Ok(()),
            0..256 => output.push(code as u8)?,
            _ if code - 258 < entries.len() => {
                let (start, length) = entries[code - 258];
                output.repeat(at - start, length)?;
            }
            // The code of the entry that this step adds.
            _ if code - 258 == entries.len() => {
                let Some((start, length)) = previous else { return Ok(()) };
                output.repeat(at - start, length + 1)?;
            }
            _ => return Ok(()),
        }
        // The bytes of the last code and the first byte of this one are adjacent in the output.
        if let Some((start, length)) = previous.filter(|_| entries.len() < 4096 - 258) {
            entries.push((start, length + 1));
        }
        previous = Some((at, output.len() - at));
    }
}

#[cfg(test)]
mod tests {
    use super::{Filter, MAX_STREAM, TooLarge, decoded_length};
    use std::io::Write;

    fn zlib(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn lengths_are_those_of_the_data() {
        let text: Vec<u8> = (0..70_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 27) as u8).collect();
        let lengths = |filters: &[Filter], data: &[u8]| decoded_length(filters, true, data);
        assert_eq!(lengths(&[Filter::Flate], &zlib(&text)), Ok(70_000));
        assert_eq!(lengths(&[Filter::Flate], &zlib(&text)[2..]), Ok(70_000));
        assert_eq!(lengths(&[Filter::Flate, Filter::Flate], &zlib(&zlib(&text))), Ok(70_000));
        assert_eq!(lengths(&[Filter::Crypt, Filter::Flate], &zlib(b"abc")), Ok(3));
        assert_eq!(lengths(&[Filter::RunLength], &[4, 10, 11, 12, 13, 14, 253, 3, 128, 9]), Ok(9));
        assert_eq!(lengths(&[Filter::Hex], b"61 6 2>63"), Ok(2));
        assert_eq!(lengths(&[Filter::Base85], b"87cUR D]i,\"Ebo80~>"), Ok(12));
        // PDF 32000-1, section 7.4.4.2: 45 45 45 45 45 65 45 45 45 66.
        assert_eq!(lengths(&[Filter::Lzw], &[0x80, 0x0b, 0x60, 0x50, 0x22, 0x0c, 0x0c, 0x85, 0x01]), Ok(10));
        assert_eq!(lengths(&[Filter::Flate, Filter::Picture], &zlib(&text)), Ok(0));
        assert_eq!(lengths(&[], &text), Ok(70_000));
    }

    #[test]
    fn a_bomb_ends_at_the_bound() {
        let once = zlib(&vec![0; MAX_STREAM + 1]);
        assert_eq!(decoded_length(&[Filter::Flate], true, &once), Err(TooLarge));
        assert_eq!(decoded_length(&[Filter::Flate; 2], true, &zlib(&once)), Err(TooLarge));
        assert_eq!(decoded_length(&[Filter::Flate], true, &zlib(&vec![0; MAX_STREAM])), Ok(MAX_STREAM));
        assert_eq!(decoded_length(&[Filter::Hex; 9], true, b"00"), Err(TooLarge));
    }
}
