//! Messages between the program and its workers: a length of eight bytes, least significant first, and as many bytes.

use std::io::{self, Read, Write};

/// Writes a message.
pub(super) fn write(to: &mut impl Write, message: &[u8]) -> io::Result<()> {
    to.write_all(&(message.len() as u64).to_le_bytes())?;
    to.write_all(message)?;
    to.flush()
}

/// Reads a message of at most `most` bytes; `None` at the end of the stream.
pub(super) fn read(from: &mut impl Read, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    if from.read(&mut length[..1])? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut length[1..])?;
    let length = u64::from_le_bytes(length);
    if length > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message that is too long"));
    }
    // The length is not believed: memory grows with what arrives.
    let mut message = Vec::new();
    from.take(length).read_to_end(&mut message)?;
    if message.len() as u64 == length { Ok(Some(message)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::{read, write};

    #[test]
    fn messages_are_read_as_they_were_written() {
        let mut stream = Vec::new();
        for message in [&b"abc"[..], b"", &[7; 70_000]] {
            write(&mut stream, message).unwrap();
        }
        let from = &mut &stream[..];
        assert_eq!(read(from, 1 << 20).unwrap().as_deref(), Some(&b"abc"[..]));
        assert_eq!(read(from, 1 << 20).unwrap().as_deref(), Some(&b""[..]));
        assert_eq!(read(from, 1 << 20).unwrap().map(|message| message.len()), Some(70_000));
        assert_eq!(read(from, 1 << 20).unwrap(), None);
        assert!(read(&mut &stream[..5], 1 << 20).is_err());
        assert!(read(&mut &stream[..10], 1 << 20).is_err());
        assert!(read(&mut &[0xff; 20][..], 1 << 20).is_err());
    }
}
