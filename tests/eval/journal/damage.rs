//! Torn tails, damage and edits of a journal.

use super::*;

/// A tail of a power cut: half a line, or zeros that a file system put there. It is cut off; damage within the record is not.
#[test]
fn a_torn_tail_is_distinguished_from_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, path) = (folder.path().join("whole.jsonl"), folder.path().join("out.jsonl"));
    debated(&whole, &questions(2, 2), 1);
    let bytes = fs::read(&whole).unwrap();
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|&(_, &b)| b == b'\n').map(|(i, _)| i + 1).collect();
    let kept = ends[4];
    for tail in
        [&bytes[kept..kept + 50], &[0; 300], &[&bytes[kept..kept + 50], &[0; 700][..]].concat(), b"{\"of\":\xff\xfe"]
    {
        fs::write(&path, [&bytes[..kept], tail].concat()).unwrap();
        assert!(Record::read(&path).unwrap().torn);
        debated(&path, &questions(2, 2), 1);
        assert_eq!(content(&path), content(&whole));
    }
    // The same in the middle is damage: refused with its line, and left as it is.
    let mut damaged = bytes.clone();
    damaged[ends[2] + 5..ends[2] + 40].fill(0);
    fs::write(&path, &damaged).unwrap();
    let error = Writer::open(&path, &madam_header()).err().unwrap().to_string();
    assert!(error.contains("out.jsonl:4: expected"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), damaged);
}

/// One changed character in any line, a missing line, two lines swapped: each is noticed; times are not compared.
#[test]
fn every_edit_is_noticed_at_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, path) = (folder.path().join("whole.jsonl"), folder.path().join("out.jsonl"));
    debated(&whole, &questions(2, 2), 1);
    let text = fs::read_to_string(&whole).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let altered = |lines: &[String]| {
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        Record::read_whole(&path).map(|(_, ledger)| ledger.altered)
    };
    let own: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
    assert!(altered(&own).unwrap().is_empty());
    for (from, to) in [
        ("\"answer\":\"", "\"answer\":\"9"),
        ("Text 1", "Text 2"),
        ("\"role\":\"agent\"", "\"role\":\"judge\""),
        ("\"max_tokens\":", "\"max_tokens\":1"),
    ] {
        let mut hits = 0;
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.contains(from)) {
            let mut edited = own.clone();
            edited[index] = line.replacen(from, to, 1);
            assert_eq!(altered(&edited).unwrap(), [index + 1], "{from} in line {}", index + 1);
            hits += 1;
        }
        assert!(hits > 0, "{from}");
    }
    let mut later = own.clone();
    later.iter_mut().for_each(|line| *line = line.replace("\"seconds\":0", "\"seconds\":7"));
    assert!(later != own && altered(&later).unwrap().is_empty());
    let mut missing = own.clone();
    missing.remove(lines.len() - 2);
    assert!(altered(&missing).is_err(), "a question without one of its calls");
    let mut swapped = own.clone();
    swapped.swap(0, 1);
    assert!(altered(&swapped).is_err());
    // The first question's line is gone: its calls belong to nothing, and the next line does not follow.
    let question = lines.iter().position(|line| line.starts_with("{\"question\"")).unwrap();
    let mut gone = own.clone();
    gone.remove(question);
    assert_eq!(altered(&gone).unwrap(), [question + 1]);
    // If all hashes are computed again after an edit, only the last hash shows it.
    assert!(lines.last().unwrap().contains(&Record::read_whole(&whole).unwrap().1.chain));
}
