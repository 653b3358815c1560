use super::{Builder, assert_says, file, random_bytes, text};
use moot_models::ModelError;
use moot_models::weights::{Gguf, Value, Weights};

const F32: u32 = 0;
const Q4_0: u32 = 2;

/// A little of everything: each kind of value, two tensors.
fn sound() -> Builder {
    Builder::new()
        .string("general.architecture", "llama")
        .value("a.u8", 0, &[7])
        .value("a.i8", 1, &[0xff])
        .value("a.u16", 2, &[1, 2])
        .value("a.i16", 3, &[0xfe, 0xff])
        .value("a.u32", 4, &5u32.to_le_bytes())
        .value("a.i32", 5, &(-5i32).to_le_bytes())
        .value("a.f32", 6, &1.5f32.to_le_bytes())
        .value("a.bool", 7, &[1])
        .value("a.u64", 10, &u64::MAX.to_le_bytes())
        .value("a.i64", 11, &i64::MIN.to_le_bytes())
        .value("a.f64", 12, &0.25f64.to_le_bytes())
        .array("a.strings", 8, 2, &[text("one"), vec![2, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe]].concat())
        .array("a.bytes", 0, 3, &[1, 2, 3])
        .array("a.floats", 6, 1, &2f32.to_le_bytes())
        .array("a.bools", 7, 2, &[0, 1])
        .tensor("norm", &[4], F32, &[1f32, 2., 3., 4.].map(f32::to_le_bytes).concat())
        .tensor("matrix", &[32, 2], Q4_0, &random_bytes(1, 36))
}

fn refusal(bytes: &[u8], parts: &[&str]) {
    let (_folder, path) = file("broken.gguf", bytes);
    assert_says(&Gguf::open(&path).unwrap_err(), &path, parts);
}

#[test]
fn every_kind_of_value_is_read() {
    for version in [2, 3] {
        let mut builder = sound();
        builder.version = version;
        let (_folder, path) = file("sound.gguf", &builder.build());
        let gguf = Gguf::open(&path).unwrap();
        let metadata = gguf.metadata();
        assert_eq!(metadata.str("general.architecture").unwrap(), "llama");
        let expected = [
            ("a.u8", Value::Unsigned(7)),
            ("a.i8", Value::Signed(-1)),
            ("a.u16", Value::Unsigned(513)),
            ("a.i16", Value::Signed(-2)),
            ("a.u32", Value::Unsigned(5)),
            ("a.i32", Value::Signed(-5)),
            ("a.f32", Value::Float(1.5)),
            ("a.bool", Value::Bool(true)),
            ("a.u64", Value::Unsigned(u64::MAX)),
            ("a.i64", Value::Signed(i64::MIN)),
            ("a.f64", Value::Float(0.25)),
            ("a.strings", Value::StringArray(vec![b"one".to_vec(), vec![0xff, 0xfe]])),
            ("a.bytes", Value::UnsignedArray(vec![1, 2, 3])),
            ("a.floats", Value::FloatArray(vec![2.])),
            ("a.bools", Value::BoolArray(vec![false, true])),
        ];
        for (field, value) in expected {
            assert_eq!(metadata.get(field), Some(&value), "{field}");
        }
        assert_eq!(gguf.tensors().map(|(name, _)| name).collect::<Vec<_>>(), ["matrix", "norm"]);
        assert_eq!(gguf.tensor_info("matrix").unwrap().shape, [2, 32]);
        assert_eq!(gguf.tensor_info("matrix").unwrap().bytes, 36);
        assert!(gguf.tensor_info("absent").is_none());
    }
}

#[test]
fn a_file_cut_at_any_byte_is_refused() {
    let whole = sound().build();
    let (_folder, path) = file("cut.gguf", &whole);
    Gguf::open(&path).unwrap();
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = Gguf::open(&path).unwrap_err();
        assert!(matches!(error, ModelError::Format { .. }), "cut at {length}: {error}");
        assert_says(&error, &path, &["GGUF", "expected", "found"]);
        assert!(error.hint().is_some());
    }
}

#[test]
fn no_byte_can_be_changed_into_a_panic() {
    let whole = sound().build();
    let (_folder, path) = file("changed.gguf", &whole);
    let check = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        if let Err(error) = Gguf::open(&path) {
            assert_says(&error, &path, &[]);
        }
    };
    for at in 0..whole.len() {
        for change in [0x00, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = change;
            check(&bytes);
        }
        let mut bytes = whole.clone();
        let end = (at + 8).min(bytes.len());
        bytes[at..end].fill(0xff);
        check(&bytes);
    }
}

#[test]
fn the_message_names_the_field() {
    let magic = Builder { magic: *b"GGML", ..sound() };
    refusal(&magic.build(), &["magic", "GGML"]);
    refusal(&Builder { version: 1, ..sound() }.build(), &["version", "2 or 3", "found 1"]);
    refusal(&Builder { version: 3 << 24, ..sound() }.build(), &["version", "little-endian", "big-endian"]);
    refusal(&Builder { tensor_count: Some(u64::MAX), ..sound() }.build(), &["tensor count", "18446744073709551615"]);
    refusal(&Builder { value_count: Some(u64::MAX), ..sound() }.build(), &["metadata count", "at most"]);
    refusal(&Builder { value_count: Some(1 << 40), ..sound() }.build(), &["metadata count"]);
    refusal(&Builder::new().value("k", 13, &[0; 8]).build(), &["metadata field k", "found 13"]);
    refusal(&Builder::new().value("k", 7, &[2]).build(), &["metadata field k", "boolean", "found 2"]);
    refusal(&Builder::new().value("k", 8, &u64::MAX.to_le_bytes()).build(), &["metadata field k", "bytes"]);
    refusal(&Builder::new().value("k", 8, &[1, 0, 0, 0, 0, 0, 0, 0, 0xff]).build(), &["metadata field k", "UTF-8"]);
    refusal(&Builder::new().string("k", "1").string("k", "2").build(), &["metadata field k", "a second one"]);
    refusal(&Builder::new().string("", "1").build(), &["key of metadata field 0", "found 0"]);
    refusal(&Builder::new().string(&"k".repeat(7_000), "1").build(), &["key of metadata field 0", "found 7000"]);
    refusal(&Builder::new().string("k\n\u{1b}[31m", "1").build(), &["control characters", r"found k\n\u{1b}[31m"]);
}

#[test]
fn arrays_are_bounded_before_they_are_read() {
    for kind in (0..13).filter(|kind| *kind != 9) {
        let claims = [u64::MAX, u64::MAX / 4, 1 << 32];
        for count in claims {
            refusal(&Builder::new().array("k", kind, count, &[1; 64]).build(), &["metadata field k", "at most"]);
        }
    }
    let nested = [&0u32.to_le_bytes()[..], &1u64.to_le_bytes(), &[1]].concat();
    refusal(&Builder::new().array("k", 9, 1, &nested).build(), &["metadata field k", "array of arrays"]);
    refusal(&Builder::new().array("k", 77, 1, &[1; 64]).build(), &["metadata field k", "found 77"]);
    refusal(&Builder::new().array("k", 7, 2, &[1, 9]).build(), &["metadata field k", "found 9"]);
    let many = vec![0; (1 << 24) + 1];
    refusal(&Builder::new().array("k", 0, many.len() as u64, &many).build(), &["metadata field k", "16777216"]);
    let half = Builder::new().array("k", 0, 1 << 23, &many[..1 << 23]);
    let (_folder, path) = file("most.gguf", &half.clone().array("l", 0, 1 << 23, &many[..1 << 23]).build());
    Gguf::open(&path).unwrap();
    refusal(&half.array("m", 0, (1 << 23) + 1, &many[..(1 << 23) + 1]).build(), &["metadata field m", "16777216"]);
}

#[test]
fn tensors_lie_in_the_file_aligned_and_alone() {
    let data = [0; 64];
    let one = || Builder::new().tensor("t", &[16], F32, &data);
    refusal(&one().tensor("t", &[16], F32, &data).build(), &["tensor t", "a second one"]);
    refusal(&one().entry("u", &[16], F32, 0).build(), &["tensor u", "tensor t"]);
    refusal(&one().entry("u", &[8], F32, 32).build(), &["tensor u", "tensor t"]);
    refusal(&one().entry("u", &[1], F32, 3).build(), &["tensor u", "multiple of 32", "found 3"]);
    refusal(&one().entry("u", &[1], F32, 64).build(), &["tensor u", "4 bytes at offset 64"]);
    refusal(&one().entry("u", &[1], F32, u64::MAX - 31).build(), &["tensor u"]);
    refusal(&one().entry("u", &[1; 5], F32, 0).build(), &["tensor u", "4 dimensions", "found 5"]);
    refusal(&one().entry("u", &[0, 4], F32, 0).build(), &["tensor u", "[4, 0]"]);
    refusal(&one().entry("u", &[u64::MAX, u64::MAX], F32, 0).build(), &["tensor u", "64 bits"]);
    refusal(&one().entry("u", &[1 << 62, 4], F32, 0).build(), &["tensor u"]);
    refusal(&one().entry("u", &[u64::MAX / 2], F32, 0).build(), &["tensor u"]);
    refusal(&one().entry("u", &[16, 2], Q4_0, 0).build(), &["tensor u", "blocks of 32", "Q4_0"]);
    refusal(&one().entry("u", &[], Q4_0, 0).build(), &["tensor u", "blocks of 32"]);
    refusal(&one().entry("u", &[256], 16, 0).build(), &["tensor u", "type IQ2_XXS is not supported", "Q6_K"]);
    let supported = "Q6_K, IQ4_NL, IQ4_XS, MXFP4)";
    refusal(&one().entry("u", &[256], 40, 0).build(), &["tensor u", "type NVFP4 is not supported", supported]);
    refusal(&one().entry("u", &[256], 77, 0).build(), &["tensor u", "number 77"]);
    refusal(&one().entry("", &[1], F32, 64).build(), &["name of tensor 1"]);
}

#[test]
fn alignment_is_a_power_of_two_of_at_least_eight() {
    let aligned = |alignment: u32| {
        Builder { alignment: alignment as usize, ..Builder::new() }
            .value("general.alignment", 4, &alignment.to_le_bytes())
            .tensor("t", &[1], F32, &[0; 4])
    };
    for alignment in [8, 64, 4096] {
        let (_folder, path) = file("aligned.gguf", &aligned(alignment).build());
        let gguf = Gguf::open(&path).unwrap();
        assert!(gguf.tensor_info("t").unwrap().offset.is_multiple_of(alignment as usize));
    }
    for alignment in [1, 4, 24, 33] {
        refusal(&aligned(alignment).build(), &["general.alignment", "power of two", &alignment.to_string()]);
    }
    for alignment in [0u32, u32::MAX, 1 << 31] {
        let builder = Builder::new().value("general.alignment", 4, &alignment.to_le_bytes());
        refusal(&builder.tensor("t", &[1], F32, &[0; 4]).build(), &[]);
    }
    refusal(&Builder::new().string("general.alignment", "32").build(), &["general.alignment", "a string"]);
}

#[test]
fn other_files_than_gguf_are_named() {
    refusal(b"", &["an empty file"]);
    refusal(b"once upon a time", &["magic", "once"]);
    refusal(b"GG", &["magic", "4 bytes"]);
    let folder = tempfile::tempdir().unwrap();
    assert_says(&Gguf::open(folder.path()).unwrap_err(), folder.path(), &["a folder"]);
    let absent = folder.path().join("absent.gguf");
    assert_says(&Weights::open(&absent).unwrap_err(), &absent, &["open"]);
}
