//! Nodes of the page tree that share their children.
//!
//! hayro visits each page tree node that is an object once. Nodes that are direct entries of an array of children, each with
//! the same array as its own children, double the pages at each level. In a tree no two nodes have the same array.

use super::budget::Excess;
use super::lexer::{Lexer, Token};
use std::collections::HashMap;

/// Maximum repeated references to arrays of children. A file that was changed and saved repeats the objects that changed.
const MAX_REPEATED: usize = 16;

/// Bytes of a key and the reference after it.
const LOOKED_AT: usize = 64;

/// References to arrays of children.
#[derive(Default)]
pub(super) struct PageTree {
    /// For each array the object and the number of the part that refer to it.
    referring: HashMap<u64, (Option<u64>, usize)>,
    parts: usize,
    repeated: usize,
}

impl PageTree {
    /// Reads a part of the file: `object`, or several objects.
    ///
    /// # Errors
    /// [`Excess::PageTree`].
    pub(super) fn read(&mut self, part: &[u8], object: Option<u64>) -> Result<(), Excess> {
        self.parts += 1;
        for (at, _) in part.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let end = part.len().min(at + LOOKED_AT);
            let mut lexer = Lexer { raw: &part[..end], at: at + 1 };
            if !matches!(part.get(at + 1), Some(b'K' | b'#')) || lexer.name() != b"Kids" {
                continue;
            }
            if let (Some(Token::Integer(array)), Some(Token::Integer(_)), Some(Token::Reference)) =
                (lexer.next(), lexer.next(), lexer.next())
            {
                self.refer(array, object);
            }
        }
        if self.repeated > MAX_REPEATED { Err(Excess::PageTree) } else { Ok(()) }
    }

    fn refer(&mut self, array: u64, object: Option<u64>) {
        let Some((other, part)) = self.referring.insert(array, (object, self.parts)) else { return };
        // A later version of an object refers to what the former one did.
        let version = object.is_some() && object == other && part != self.parts;
        self.repeated += usize::from(!version);
    }
}

#[cfg(test)]
mod tests {
    use super::PageTree;

    #[test]
    fn shared_children_are_no_tree_and_versions_are() {
        let twice = b"[<< /Kids 11 0 R >> << /K#69ds 11 0 R >>]";
        let mut tree = PageTree::default();
        assert!((0..16).all(|_| tree.read(twice, Some(10)).is_ok()));
        assert!((0..16).any(|_| tree.read(twice, Some(10)).is_err()));
        let mut tree = PageTree::default();
        assert!((0..100).all(|_| tree.read(b"<< /Kids 11 0 R >>", Some(2)).is_ok()));
        assert!((0..100).all(|_| tree.read(b"<< /Kids [3 0 R 4 0 R] /Kidsx 5 0 R >>", None).is_ok()));
        assert!((0..100).any(|number| tree.read(b"<< /Kids 11 0 R >>", Some(number)).is_err()));
    }
}
