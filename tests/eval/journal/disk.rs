//! A disk that is full, and replies that must be on it.

use super::*;

/// A file with room for so many bytes, which can be truncated so many times.
struct Full {
    file: File,
    room: usize,
    cuts: usize,
}

impl Storage for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fits = bytes.len().min(self.room);
        self.room -= fits;
        Storage::write(&mut self.file, &bytes[..fits])?;
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        match self.cuts.checked_sub(1) {
            Some(left) => self.cuts = left,
            None => return Err(io::ErrorKind::Other.into()),
        }
        Storage::cut(&mut self.file, length)
    }

    fn is_as_left(&mut self, length: u64, end: &[u8]) -> io::Result<bool> {
        self.file.is_as_left(length, end)
    }
}

/// Another program cuts the record, or writes to it: writing on would leave a gap of zeros that no reader can read.
#[test]
fn a_record_that_another_program_changed_is_written_no_further() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let record = |id: &str| super::super::answered(id, &["yes"], &[], &["yes"]);
    let changes: [&dyn Fn(&Path); 4] = [
        &|path| File::options().write(true).open(path).unwrap().set_len(100).unwrap(),
        &|path| File::options().write(true).open(path).unwrap().set_len(0).unwrap(),
        &|path| fs::write(path, fs::read(path).unwrap().repeat(2)).unwrap(),
        &|path| fs::write(path, vec![b' '; fs::read(path).unwrap().len()]).unwrap(),
    ];
    for other in changes {
        let _ = fs::remove_file(&path);
        let mut writer = Writer::open(&path, &madam_header()).unwrap();
        writer.append(&record("a")).unwrap();
        other(&path);
        let after = fs::read(&path).unwrap();
        let error = writer.append(&record("b")).unwrap_err().to_string();
        assert!(error.contains("expected the record as this run wrote it, ") && !error.contains('\n'), "{error}");
        assert!(writer.append(&record("c")).unwrap_err().to_string().contains("an earlier write failed"));
        drop(writer);
        assert_eq!(fs::read(&path).unwrap(), after, "what is there stays");
    }
    // Cut within a line, the record is gone on with.
    fs::remove_file(&path).unwrap();
    let mut writer = Writer::open(&path, &madam_header()).unwrap();
    writer.append(&record("a")).unwrap();
    writer.append(&record("b")).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(fs::metadata(&path).unwrap().len() - 10).unwrap();
    assert!(writer.append(&record("c")).is_err());
    drop(writer);
    let mut writer = Writer::open(&path, &madam_header()).unwrap();
    assert_eq!(writer.finished().len(), 1);
    writer.append(&record("b")).unwrap();
    assert_eq!(Record::read(&path).unwrap().questions.len(), 2);
}

/// The run ends at once with the system's reason; whole lines are kept, and the run continues once there is room. In every
/// other round what was half written cannot be cut off either.
#[test]
fn a_full_disk_loses_no_whole_line() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, path) = (folder.path().join("whole.jsonl"), folder.path().join("full.jsonl"));
    debated(&whole, &questions(4, 4), 1);
    let length = fs::read(&whole).unwrap().len();
    let (all, mut random, mut torn) = (4 * 3 * 5, ChaCha8Rng::seed_from_u64(11), 0);
    for round in 0..30 {
        let room = random.random_range(0..length - 2000);
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = asked.clone();
        drop(Writer::open(&path, &madam_header()).unwrap());
        // The first cut is that of opening.
        let cuts = if round % 2 == 0 { 2 } else { 1 };
        let full = |file| -> Box<dyn Storage> { Box::new(Full { file, room, cuts }) };
        let mut writer = Writer::open_on(&path, &madam_header(), false, full).unwrap();
        let ended = debate(&mut writer, &questions(4, 4), 2, move |call| {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok(reply(call))
        });
        let error = ended.unwrap_err();
        assert!(matches!(error, MootError::Io { action: "write", .. }), "{error}");
        drop(writer);
        let (record, ledger) = Record::read_whole(&path).unwrap();
        assert!(ledger.altered.is_empty() && !(record.torn && cuts == 2));
        torn += usize::from(record.torn);
        assert!(room > length / 2 || asked.load(Ordering::SeqCst) < all, "the run went on without a record");
        let there = call_lines(&fs::read(&path).unwrap());
        let (progress, again) = debated(&path, &questions(4, 4), 2);
        assert_eq!((again, progress.done), (all - there, 4), "room {room}");
        assert_eq!(content(&path), content(&whole), "room {room}");
        fs::remove_file(&path).unwrap();
    }
    assert!(torn > 5, "{torn} torn tails");
}

/// After a failed write nothing else is written: the hashes of later lines would depend on lines that are lost.
#[test]
fn nothing_is_written_after_a_failed_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    drop(Writer::open(&path, &madam_header()).unwrap());
    let before = fs::read(&path).unwrap();
    let mut writer =
        Writer::open_on(&path, &madam_header(), false, |file| Box::new(Full { file, room: 40, cuts: 9 })).unwrap();
    let record = super::super::answered("a", &["yes"], &[], &["yes"]);
    assert!(writer.append(&record).unwrap_err().to_string().contains("cannot write"));
    let small = QuestionRecord { calls: Vec::new(), ..record };
    assert!(writer.append(&small).unwrap_err().to_string().contains("an earlier write failed"));
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(writer);
    // A question in flight ends with its stage: what it would ask further could not be recorded.
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let full = |file| -> Box<dyn Storage> { Box::new(Full { file, room: 40, cuts: 9 }) };
    let mut writer = Writer::open_on(&path, &madam_header(), false, full).unwrap();
    let ended = debate(&mut writer, &questions(1, 30), 1, move |call| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(reply(call))
    });
    assert!(ended.is_err() && asked.load(Ordering::SeqCst) == 30, "{asked:?}");
}

/// Before a method sends its next stage, all replies of the last one are on the disk.
#[test]
fn a_method_continues_only_after_its_replies_are_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let mut writer = Writer::open(&path, &madam_header()).unwrap();
    let file = path.clone();
    let ended = debate(&mut writer, &questions(8, 20), 1, move |call| {
        let there = call_lines(&fs::read(&file).unwrap()) % 63;
        let round = call.what.rsplit(' ').next().and_then(|round| round.parse::<usize>().ok()).unwrap();
        let before = if call.role == "agent" { 21 * (round - 1) } else { 21 * (round - 1) + 20 };
        if there == before { Ok(reply(call)) } else { Err(MootError::Engine(format!("{there} of {before} calls"))) }
    });
    assert_eq!(ended.unwrap().calls, 8 * 63);
}
