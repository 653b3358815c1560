//! Texts that are longer than a model's limit: where windows begin, and to which lengths two texts are cut.

/// Where windows of `window` tokens begin in a text of `length`: each overlaps the one before by a quarter at least, and the
/// last ends where the text does.
pub(super) fn window_starts(length: usize, window: usize) -> impl Iterator<Item = usize> {
    let step = (window - window / 4).max(1);
    let last = length.saturating_sub(window);
    (0..=last.div_ceil(step)).map(move |index| (index * step).min(last))
}

/// Lengths that two texts are truncated to: the longer text first; where both are, to equal halves of the room, the longer
/// text with the odd token.
pub(super) fn longest_first(first: usize, second: usize, room: usize) -> (usize, usize) {
    if first + second <= room {
        return (first, second);
    }
    let (short, long) = (first.min(second), room.saturating_sub(first.min(second)).max(first.min(second)));
    let (short, long) = if short + long > room { (room / 2, room / 2 + room % 2) } else { (short, long) };
    if first > second { (long, short) } else { (short, long) }
}

#[cfg(test)]
mod tests {
    use super::{longest_first, window_starts};

    #[test]
    fn windows_overlap_and_reach_the_end() {
        let starts = |length, window| window_starts(length, window).collect::<Vec<_>>();
        assert_eq!(starts(0, 8), [0]);
        assert_eq!(starts(8, 8), [0]);
        assert_eq!(starts(9, 8), [0, 1]);
        assert_eq!(starts(20, 8), [0, 6, 12]);
        assert_eq!(starts(21, 8), [0, 6, 12, 13]);
        assert_eq!(starts(3, 1), [0, 1, 2]);
    }

    #[test]
    fn the_longer_text_is_truncated_first() {
        for (lengths, kept) in [
            ((3, 4), (3, 4)),
            ((3, 40), (3, 7)),
            ((40, 3), (7, 3)),
            ((8, 9), (5, 5)),
            ((9, 8), (5, 5)),
            ((5, 6), (5, 5)),
        ] {
            assert_eq!(longest_first(lengths.0, lengths.1, 10), kept, "{lengths:?}");
        }
        assert_eq!((longest_first(8, 9, 11), longest_first(9, 8, 11)), ((5, 6), (6, 5)));
    }
}
