//! Layers with a window have pages of their own, which other sequences and layers take once the window has left them.

use super::architectures::load;
use super::{golden, reference};
use moot_models::kernels::NO_PAGE;
use moot_models::{Batch, PAGE, PageGroups, Residency, SequenceRows};
use safetensors::SafeTensors;

/// A sequence with its pages of each group.
struct Paged {
    ids: Vec<u32>,
    tables: Vec<Vec<u32>>,
}

impl Paged {
    /// Gives back what no window from `start` on reaches, and takes pages for tokens up to `end`.
    fn turn(&mut self, start: usize, end: usize, groups: &PageGroups, free: &mut Vec<u32>) {
        for table in &mut self.tables[groups.full..] {
            let first = groups.first_reached(start).min(table.len());
            for page in table[..first].iter_mut().filter(|page| **page != NO_PAGE) {
                free.push(std::mem::replace(page, NO_PAGE));
            }
        }
        for table in &mut self.tables {
            while table.len() * PAGE < end {
                table.push(free.pop().expect("the pages that the groups say are enough"));
            }
        }
    }
}

#[test]
fn rows_have_the_same_bits_on_pages_that_windows_have_left() {
    for (name, count) in [
        ("gemma3", [1, 6]),
        ("gemma4", [1, 1]),
        ("gemma4-moe", [1, 1]),
        ("gemma4-images", [2, 1]),
        ("mistral-window", [0, 1]),
        ("phi3-window", [0, 1]),
        ("gpt-oss", [1, 2]),
        ("olmo3", [1, 4]),
        ("qwen2-window", [1, 2]),
    ] {
        let folder = golden("architectures").join(name);
        let bytes = std::fs::read(folder.join("expected.safetensors")).unwrap();
        let ids = reference(&SafeTensors::deserialize(&bytes).unwrap(), 2).ids.repeat(3);
        let decoder = load(&folder, Residency::AsStored);
        let groups = decoder.page_groups();
        assert_eq!([groups.full, groups.windowed], count, "{name}");
        let bits = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let backwards: Vec<u32> = ids.iter().rev().copied().collect();
        let mut sequences = [ids, backwards].map(|ids| Paged { ids, tables: vec![Vec::new(); groups.count()] });
        let len = sequences[0].ids.len();
        let alone = sequences.each_ref().map(|sequence| decoder.forward_alone(&sequence.ids).unwrap());
        let pages = groups.pages(2, len, 2 * 23);
        assert!(pages < groups.count() * 2 * len.div_ceil(PAGE), "{name}");
        let kv = decoder.kv_cache_in_groups(&groups, pages, 1).unwrap();
        let mut free: Vec<u32> = (0..pages as u32).collect();
        let mut start = 0;
        for chunk in [23, 1, 1, 16, 7, 1].into_iter().cycle() {
            let end = (start + chunk).min(len);
            if start == end {
                break;
            }
            sequences.iter_mut().for_each(|sequence| sequence.turn(start, end, &groups, &mut free));
            let tokens = sequences.iter().flat_map(|sequence| sequence.ids[start..end].to_vec()).collect::<Vec<_>>();
            let rows = |group: usize| {
                let rows = |s: &Paged| SequenceRows { start, len: end - start, pages: s.tables[group].clone() };
                sequences.iter().map(rows).collect::<Vec<_>>()
            };
            let wanted = (0..tokens.len() as u32).collect();
            let batch = Batch::in_groups(tokens, (0..groups.count()).map(rows).collect(), wanted, &groups);
            let found: Vec<Vec<f32>> = decoder.forward(&batch, &kv).unwrap().to_vec2().unwrap();
            for (row, found) in found.iter().enumerate() {
                let (sequence, position) = (row / (end - start), start + row % (end - start));
                assert_eq!(bits(found), bits(&alone[sequence][position]), "{name}, {sequence}, position {position}");
            }
            start = end;
        }
        // A page that a window needs and has not is an error, not a wrong number.
        let row = |pages: Vec<u32>| vec![SequenceRows { start: len - 1, len: 1, pages }];
        let lost = |table: &Vec<u32>| row(table.iter().map(|_| NO_PAGE).chain([0]).skip(1).collect());
        let lost = sequences[0].tables.iter().map(lost).collect();
        let error = decoder.forward(&Batch::in_groups(vec![1], lost, vec![0], &groups), &kv).unwrap_err().to_string();
        assert!(error.contains("in the cache"), "{name}: {error}");
        // And so are pages of fewer groups.
        if groups.count() > 1 {
            let few = Batch::new(vec![1], row(sequences[0].tables[0].clone()), vec![0]);
            assert!(decoder.forward(&few, &kv).unwrap_err().to_string().contains("lacks"), "{name}");
        }
    }
}
