//! UTF-32, which encoding_rs leaves out: a text in it is decoded where a byte-order mark says so.

pub(super) const NAME: &str = "UTF-32";

/// Whether `bytes` begin with a byte-order mark of UTF-32.
pub(super) fn is_marked(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe\0\0") || bytes.starts_with(b"\0\0\xfe\xff")
}

/// The text of marked `bytes`, its mark included; U+FFFD for an invalid character.
pub(super) fn marked(bytes: &[u8]) -> Option<String> {
    is_marked(bytes).then(|| {
        let decode = if bytes[0] == 0 { u32::from_be_bytes } else { u32::from_le_bytes };
        let units =
            bytes.chunks(4).map(|unit| <[u8; 4]>::try_from(unit).ok().and_then(|unit| char::from_u32(decode(unit))));
        units.map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    })
}
