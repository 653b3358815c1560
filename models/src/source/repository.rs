//! Selects the model's files from the file names of a repository, on the hub or in its cache.

use crate::encoder::SENTENCE_CONFIGS;

/// The files to fetch from a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A GGUF file, or its splits in order.
    Files(Vec<String>),
    /// Configuration, tokenizer and weights; if `index` is set, also the shards that the index names.
    Folder {
        /// Names without the shards.
        files: Vec<String>,
        /// Whether the weights are in shards.
        index: bool,
    },
}

pub(super) const SINGLE: &str = "model.safetensors";
pub(super) const INDEX: &str = "model.safetensors.index.json";

/// Required files of a model folder.
const NEEDED: [&str; 2] = ["config.json", "tokenizer.json"];

/// Optional files of a model folder: the chat template, and an encoder's pooling and the layers behind it; [`SENTENCE_CONFIGS`] too.
const WELCOME: [&str; 10] = [
    "tokenizer_config.json",
    "chat_template.jinja",
    "generation_config.json",
    "modules.json",
    "1_Pooling/config.json",
    "2_Dense/config.json",
    "2_Dense/model.safetensors",
    "3_Dense/config.json",
    "3_Dense/model.safetensors",
    "config_sentence_transformers.json",
];

/// The model in a repository with files `names`: its safetensors, else its GGUF file.
///
/// # Errors
/// The reason, in one line.
pub(super) fn choose(names: &[String]) -> Result<Wanted, String> {
    let has = |name: &str| names.iter().any(|other| other == name);
    let index = !has(SINGLE) && has(INDEX);
    if has(SINGLE) || index {
        if let Some(missing) = NEEDED.iter().find(|name| !has(name)) {
            return Err(format!("it has safetensors and no {missing}"));
        }
        let welcome = WELCOME.iter().chain(&SENTENCE_CONFIGS).filter(|name| has(name));
        let weights = if index { INDEX } else { SINGLE };
        let files = NEEDED.iter().chain(welcome).chain([&weights]).map(|&name| name.to_owned()).collect();
        return Ok(Wanted::Folder { files, index });
    }
    gguf(names).map(|name| Wanted::Files(splits(&name)))
}

/// The only GGUF file, or among several the only Q4_K_M, else the only Q8_0.
fn gguf(names: &[String]) -> Result<String, String> {
    let first = |name: &&String| split(name).is_none_or(|(_, number, _)| number == 1);
    let files: Vec<&String> =
        names.iter().filter(|name| name.ends_with(".gguf") && !name.contains("mmproj")).filter(first).collect();
    if let [only] = files[..] {
        return Ok(only.clone());
    }
    for kind in ["q4_k_m", "q8_0"] {
        let mut of_kind = files.iter().filter(|name| name.to_lowercase().contains(kind));
        if let (Some(only), None) = (of_kind.next(), of_kind.next()) {
            return Ok((*only).clone());
        }
    }
    match files[..] {
        [] if names.iter().any(|name| name.ends_with(".bin") || name.ends_with(".pth") || name.ends_with(".pt")) => {
            Err("its weights are pickles, which are never read".to_owned())
        }
        [] => Err("it has neither model.safetensors nor a .gguf file".to_owned()),
        [first, ..] => Err(format!("it has {} .gguf files; name one, as .../{first}", files.len())),
    }
}

/// All splits of the GGUF file `name`: `x-00001-of-00003.gguf` and its kin, or the file alone.
pub(super) fn splits(name: &str) -> Vec<String> {
    match split(name) {
        Some((stem, _, count)) => (1..=count).map(|n| format!("{stem}-{n:05}-of-{count:05}.gguf")).collect(),
        None => vec![name.to_owned()],
    }
}

/// Stem, number and count of `stem-00001-of-00003.gguf`.
fn split(name: &str) -> Option<(&str, usize, usize)> {
    let (rest, count) = name.strip_suffix(".gguf")?.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    let five = |digits: &str| (digits.len() == 5).then(|| digits.parse::<usize>().ok()).flatten();
    let (number, count) = (five(number)?, five(count)?);
    (1..=count).contains(&number).then_some((stem, number, count))
}

/// The shards that an index names, each once.
///
/// # Errors
/// It is not an index, or a name leads out of the folder.
pub(super) fn shards(index: &[u8]) -> Result<Vec<String>, String> {
    #[derive(serde::Deserialize)]
    struct Index {
        weight_map: std::collections::BTreeMap<String, String>,
    }
    let index: Index = serde_json::from_slice(index).map_err(|error| format!("{INDEX}: {error}"))?;
    let mut shards: Vec<String> = index.weight_map.into_values().collect();
    shards.sort_unstable();
    shards.dedup();
    match shards.iter().find(|name| name.contains(['/', '\\']) || !name.ends_with(".safetensors")) {
        Some(name) => Err(format!("{INDEX}: {name:?} is no name of a shard")),
        None => Ok(shards),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn names(of: &[&str]) -> Vec<String> {
        of.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn safetensors_come_first_with_their_other_files() {
        let listed = names(&["README.md", "config.json", "tokenizer.json", "tokenizer_config.json", SINGLE, "x.gguf"]);
        let files = names(&["config.json", "tokenizer.json", "tokenizer_config.json", SINGLE]);
        assert_eq!(choose(&listed).unwrap(), Wanted::Folder { files, index: false });
        let listed = names(&["config.json", "tokenizer.json", SINGLE, "sentence_roberta_config.json", "x.json"]);
        let files = names(&["config.json", "tokenizer.json", "sentence_roberta_config.json", SINGLE]);
        assert_eq!(choose(&listed).unwrap(), Wanted::Folder { files, index: false });
        let files = names(&["config.json", "tokenizer.json", INDEX]);
        assert_eq!(choose(&files).unwrap(), Wanted::Folder { files, index: true });
        assert!(choose(&names(&["config.json", SINGLE])).unwrap_err().contains("no tokenizer.json"));
    }

    #[test]
    fn one_gguf_is_chosen_among_several_or_none() {
        let files = |of: &[&str]| choose(&names(of));
        let one = |name: &str| Wanted::Files(vec![name.to_owned()]);
        assert_eq!(files(&["m.gguf", "mmproj-m.gguf"]).unwrap(), one("m.gguf"));
        assert_eq!(files(&["m-Q8_0.gguf", "m-Q4_K_M.gguf", "m-Q2_K.gguf"]).unwrap(), one("m-Q4_K_M.gguf"));
        assert_eq!(files(&["m-Q8_0.gguf", "m-Q2_K.gguf"]).unwrap(), one("m-Q8_0.gguf"));
        let parts = ["m-q8_0-00001-of-00002.gguf", "m-q8_0-00002-of-00002.gguf"];
        assert_eq!(files(&parts).unwrap(), Wanted::Files(names(&parts)));
        assert!(files(&["a-Q2_K.gguf", "b-Q3_K.gguf"]).unwrap_err().contains("name one"));
        assert!(files(&["pytorch_model-00001-of-00002.bin"]).unwrap_err().contains("pickles"));
        assert!(files(&["README.md"]).unwrap_err().contains("neither"));
    }

    #[test]
    fn splits_and_shards() {
        assert_eq!(splits("m.gguf"), ["m.gguf"]);
        assert_eq!(splits("d/m-00002-of-00002.gguf"), ["d/m-00001-of-00002.gguf", "d/m-00002-of-00002.gguf"]);
        assert_eq!(splits("m-3-of-2.gguf"), ["m-3-of-2.gguf"]);
        let index = br#"{"weight_map": {"a": "m-2.safetensors", "b": "m-1.safetensors", "c": "m-2.safetensors"}}"#;
        assert_eq!(shards(index).unwrap(), ["m-1.safetensors", "m-2.safetensors"]);
        assert!(shards(br#"{"weight_map": {"a": "../m.safetensors"}}"#).is_err());
        assert!(shards(b"[]").is_err());
    }
}
