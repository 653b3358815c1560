use super::{assert_says, file};
use candle_core::{DType, Device};
use moot_models::weights::{Safetensors, Weights};
use std::path::Path;

/// A safetensors file: header as given, then `data` bytes counting up.
fn raw(header: &str, data: usize) -> Vec<u8> {
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend(header.as_bytes());
    out.extend((0..data).map(|n| n as u8));
    out
}

fn sound() -> Vec<u8> {
    let header = r#"{"__metadata__":{"format":"pt"},
        "a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},
        "b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]},
        "ids":{"dtype":"I64","shape":[1],"data_offsets":[22,30]}}"#;
    raw(header, 30)
}

fn refusal(bytes: &[u8], parts: &[&str]) {
    let (folder, path) = file("model.safetensors", bytes);
    assert_says(&Safetensors::open(folder.path()).unwrap_err(), &path, parts);
}

/// A folder with an index and the shards "1.safetensors" (tensor a) and "2.safetensors" (tensor b).
fn sharded(index: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("model.safetensors.index.json"), index).unwrap();
    for (shard, tensor) in [("1.safetensors", "a"), ("2.safetensors", "b")] {
        let header = format!(r#"{{"{tensor}":{{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}}}"#);
        std::fs::write(folder.path().join(shard), raw(&header, 8)).unwrap();
    }
    folder
}

fn index_refusal(index: &str, file: &str, parts: &[&str]) {
    let folder = sharded(index);
    assert_says(&Weights::open(folder.path()).unwrap_err(), &folder.path().join(file), parts);
}

#[test]
fn one_file_opens_and_widens() {
    let (folder, _path) = file("model.safetensors", &sound());
    let weights = Weights::open(folder.path()).unwrap();
    assert_eq!(weights.names().collect::<Vec<_>>(), ["a", "b", "ids"]);
    assert_eq!(weights.shape("a").unwrap(), [2, 2]);
    assert_eq!(weights.stored_type("b").unwrap(), "BF16");
    let a = weights.dense("a", &[2, 2], DType::F32, &Device::Cpu).unwrap().to_vec2::<f32>().unwrap();
    assert_eq!(a[1][1].to_le_bytes(), [12, 13, 14, 15]);
    assert!(weights.rows("a", 2, 2).unwrap().quantized(&Device::Cpu).unwrap().is_none());
    let error = weights.dense("ids", &[1], DType::F32, &Device::Cpu).unwrap_err();
    assert_says(&error, folder.path(), &["tensor ids", "I64", "F32, F16, BF16"]);
}

/// Codes of a row's neighbours are the halves of a byte, and a scale is 2 to the byte less 127.
#[test]
fn codes_and_scales_of_mxfp4_are_one_matrix() {
    let header = |scales: &str, kind: &str| {
        format!(
            r#"{{"m_blocks":{{"dtype":"U8","shape":[3,1,16],"data_offsets":[0,48]}},
            "m_{scales}":{{"dtype":"{kind}","shape":[3,1],"data_offsets":[48,51]}}}}"#
        )
    };
    let mut bytes = raw(&header("scales", "U8"), 51);
    let data = bytes.len() - 51;
    bytes[data + 48..].copy_from_slice(&[127, 129, 126]);
    let (folder, _path) = file("model.safetensors", &bytes);
    let weights = Weights::open(folder.path()).unwrap();
    assert_eq!(weights.names().collect::<Vec<_>>(), ["m"]);
    assert_eq!((weights.shape("m").unwrap(), weights.stored_type("m").unwrap()), (vec![3, 32], "MXFP4".to_owned()));
    let values = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];
    let wanted = |row: usize, element: usize| {
        let byte = 16 * row + element / 2;
        values[byte >> (element % 2 * 4) & 15] * [1.0, 4.0, 0.5][row]
    };
    let rows = || weights.rows("m", 3, 32).unwrap();
    let dense = rows().dense(DType::F32, &Device::Cpu).unwrap().to_vec2::<f32>().unwrap();
    for (row, found) in dense.iter().enumerate() {
        assert_eq!(*found, (0..32).map(|element| wanted(row, element)).collect::<Vec<_>>(), "row {row}");
    }
    // Rows that take turns: of three, the first and the last are one projection's, the second is the other's.
    assert_eq!((rows().every(2).shape(), rows().slice(1..3).every(2).shape()), ((2, 32), (1, 32)));
    let turns = rows().every(2).dense(DType::F32, &Device::Cpu).unwrap().to_vec2::<f32>().unwrap();
    assert_eq!(turns, [&dense[0][..], &dense[2]]);
    let mut row = vec![0.0; 32];
    rows().every(2).read(1, &mut row);
    assert_eq!(row, dense[2]);
    for (scales, kind) in [("scale", "U8"), ("scales", "I8")] {
        let (folder, _path) = file("model.safetensors", &raw(&header(scales, kind), 51));
        let weights = Weights::open(folder.path()).unwrap();
        assert_eq!(
            weights.names().collect::<Vec<_>>(),
            ["m_blocks", format!("m_{scales}").as_str()],
            "left as they are"
        );
    }
}

#[test]
fn shards_open_through_the_index() {
    let folder = sharded(r#"{"metadata":{},"weight_map":{"a":"1.safetensors","b":"2.safetensors"}}"#);
    let weights = Weights::open(folder.path()).unwrap();
    assert_eq!(weights.names().collect::<Vec<_>>(), ["a", "b"]);
    weights.dense("b", &[2], DType::F32, &Device::Cpu).unwrap();
    let Weights::Safetensors(open) = &weights else { panic!("not safetensors") };
    assert_eq!(open.files().count(), 2);
}

#[test]
fn the_index_is_not_believed() {
    let index = "model.safetensors.index.json";
    let map = |shard: &str| format!(r#"{{"weight_map":{{"a":"1.safetensors","b":"{shard}"}}}}"#);
    index_refusal(&map("3.safetensors"), index, &["tensor b", "3.safetensors", "no such file"]);
    index_refusal(&map("1.safetensors"), "1.safetensors", &["tensor b", "no tensor of that name"]);
    for outside in
        ["../2.safetensors", "/2.safetensors", "x/2.safetensors", "..", "", "x\\\\2.safetensors", "./2.safetensors"]
    {
        index_refusal(&map(outside), index, &["tensor b", "without a folder"]);
    }
    index_refusal(&map("pytorch_model-00001.bin"), index, &["tensor b", "ending in .safetensors"]);
    index_refusal("{", index, &["weight_map"]);
    index_refusal("", index, &["weight_map"]);
    index_refusal("{}", index, &["weight_map"]);
    index_refusal(r#"{"weight_map":{}}"#, index, &["weight_map", "none"]);
    index_refusal(r#"{"weight_map":{"a":1}}"#, index, &["weight_map"]);
}

#[test]
fn a_file_cut_at_any_byte_is_refused() {
    let whole = sound();
    let (folder, path) = file("model.safetensors", &whole);
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert_says(&Safetensors::open(folder.path()).unwrap_err(), &path, &["safetensors", "expected"]);
    }
}

#[test]
fn no_byte_can_be_changed_into_a_panic() {
    let whole = sound();
    let (folder, path) = file("model.safetensors", &whole);
    for at in 0..whole.len() - 30 {
        for change in [0x00, b'9', b'"', 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = change;
            std::fs::write(&path, &bytes).unwrap();
            if let Err(error) = Safetensors::open(folder.path()) {
                assert_says(&error, &path, &[]);
            }
        }
    }
}

#[test]
fn the_message_names_the_tensor() {
    let with = |entry: &str| raw(&format!(r#"{{"t":{entry}}}"#), 8);
    refusal(&with(r#"{"dtype":"F32","shape":[3],"data_offsets":[0,8]}"#), &["tensor t", "shape"]);
    refusal(&with(r#"{"dtype":"F32","shape":[2],"data_offsets":[0,16]}"#), &["tensor t"]);
    refusal(&with(r#"{"dtype":"F32","shape":[2],"data_offsets":[4,12]}"#), &["tensor t"]);
    refusal(&with(r#"{"dtype":"F32","shape":[18446744073709551615,8],"data_offsets":[0,8]}"#), &["tensor t"]);
    refusal(&with(r#"{"dtype":"F33","shape":[2],"data_offsets":[0,8]}"#), &["tensor t"]);
    refusal(&with(r#"{"dtype":"F32","shape":[2],"data_offsets":[8,0]}"#), &["tensor t"]);
    refusal(&with(r#"{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#), &["header"]);
    let named = |name: &str| raw(&format!(r#"{{"{name}":{{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}}}"#), 8);
    refusal(&named(r"t\n\u001b[31m"), &["control characters", r"found t\n\u{1b}[31m"]);
    refusal(&named(&"t".repeat(2000)), &["1 to 1024 bytes"]);
    refusal(&[0xff; 64], &["header"]);
    refusal(b"text that is no model", &["header"]);
    refusal(b"", &["an empty file"]);
}

#[test]
fn the_error_names_what_a_folder_has_instead() {
    let says = |name: &str, parts: &[&str]| {
        let (folder, path) = file(name, b"x");
        assert_says(&Weights::open(path.parent().unwrap()).unwrap_err(), folder.path(), parts);
    };
    says("pytorch_model.bin", &["pytorch_model.bin", "pickle", "convert it to safetensors"]);
    says("model.gguf", &["model.gguf", "name that file"]);
    for pickle in ["pytorch_model.bin", "consolidated.00.pth", "model.PT"] {
        let (_folder, path) = file(pickle, b"PK and whatever follows");
        assert_says(&Weights::open(&path).unwrap_err(), &path, &["pickle", "convert it to safetensors"]);
    }
    says("config.json", &["model.safetensors.index.json", "neither"]);
    let (_folder, path) = file("model.safetensors", &sound());
    assert_says(&Weights::open(&path).unwrap_err(), &path, &["name its folder"]);
    assert!(Safetensors::open(Path::new("/nowhere/at/all")).is_err());
}
