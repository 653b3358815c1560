//! Every family's chat template against `apply_chat_template`, and every family's real vocabulary against Hugging
//! Face's tokenizer (`golden/tokenizer/families.py`).

use super::content::{check_borders, check_disguises};
use super::fixture::{back, json, model, path, qwen3, takes_system};
use super::golden::digest;
use moot_models::tokenizer::{ChatTemplate, Message, Role, Segment, SpecialTokens, Thinking, Tokenizer};
use moot_models::weights::Gguf;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::Instant;

const FAMILIES: [&str; 6] = ["llama2", "phi3", "mistral1", "mistral", "llama3", "qwen3"];

/// A case of `families.json`.
struct Case<'a> {
    messages: Vec<Message>,
    prompt: bool,
    thinking: Thinking,
    /// `None` where the template refuses.
    text: Option<&'a str>,
    ids: Vec<u32>,
}

fn template(name: &str, row: &Value) -> ChatTemplate {
    let source = std::fs::read_to_string(path(&format!("templates/{name}.jinja"))).unwrap();
    ChatTemplate::new(&source, name, row["bos"].as_str(), row["eos"].as_str()).unwrap()
}

fn cases(row: &Value) -> impl Iterator<Item = Case<'_>> {
    row["cases"].as_array().unwrap().iter().map(|case| Case {
        messages: serde_json::from_value(case["messages"].clone()).unwrap(),
        prompt: case["prompt"].as_bool().unwrap(),
        thinking: if case["thinking"] == true { Thinking::On } else { Thinking::Off },
        text: case["text"].as_str(),
        ids: case["ids"].as_str().unwrap_or_default().split_whitespace().map(|id| id.parse().unwrap()).collect(),
    })
}

impl Case<'_> {
    /// Whether the template takes every content: only then are texts equal.
    fn has_all(&self, template: &ChatTemplate) -> bool {
        let said = |message: &Message| self.text.is_some_and(|text| text.contains(message.content.trim()));
        let system = self.messages.iter().any(|message| message.role == Role::System);
        self.messages.iter().all(said) && (takes_system(template) || !system)
    }

    fn rendered(&self, template: &ChatTemplate) -> moot_models::Result<Vec<Segment>> {
        template.render(&self.messages, self.prompt, self.thinking)
    }
}

fn text(segments: &[Segment]) -> String {
    segments.iter().map(Segment::text).collect()
}

#[test]
fn texts_equal_apply_chat_template() {
    for (name, row) in json("families.json").as_object().unwrap() {
        let template = template(name, row);
        assert_eq!(template.knows_thinking(), name == "qwen3", "{name}");
        assert_eq!(takes_system(&template), !["mistral-v0.2", "phi3-first"].contains(&name.as_str()), "{name}");
        let mut equal = 0;
        for case in cases(row) {
            if case.has_all(&template) {
                assert_eq!(text(&case.rendered(&template).unwrap()), case.text.unwrap(), "{name}");
                equal += 1;
            } else if takes_system(&template) {
                // Mistral v0.3's forgets the instructions when the user does not speak last.
                assert!(case.rendered(&template).unwrap_err().to_string().contains("drops"), "{name}");
            } else {
                let text = text(&case.rendered(&template).unwrap());
                assert!(case.messages.iter().all(|m| text.contains(m.content.trim())), "{name}: {text}");
            }
        }
        assert!(equal >= 12, "{name}: {equal}");
    }
}

/// Ids of a family's conversations, and one BOS in front where the template or the vocabulary has one.
fn check_ids(family: &str, tokenizer: &Tokenizer) {
    let mut checked = 0;
    for (name, row) in json("families.json").as_object().unwrap().iter().filter(|(_, row)| row["vocabulary"] == family)
    {
        let template = template(name, row);
        for case in cases(row).filter(|case| case.has_all(&template)) {
            let ids = tokenizer.encode_prompt(&case.rendered(&template).unwrap()).unwrap();
            assert_eq!(ids, case.ids, "{name}: {:?}", case.messages);
            let leading = ids.iter().take_while(|&&id| Some(id) == tokenizer.bos_id()).count();
            let wanted = usize::from(!["qwen3", "phi3"].contains(&name.as_str()));
            assert_eq!(leading, wanted, "{name}");
            checked += 1;
        }
    }
    assert!(checked >= 12, "{family}: {checked}");
}

#[test]
fn ids_equal_apply_chat_template() {
    check_ids("mistral", &model("mistral").1);
    check_ids("qwen3", &Tokenizer::from_gguf(&qwen3()).unwrap());
}

#[test]
fn thoughts_of_qwen3() {
    let golden = json("families.json");
    let template = template("qwen3", &golden["qwen3"]);
    let show = |thinking| text(&template.render(&[Message::new(Role::User, "q")], true, thinking).unwrap());
    let open = "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(show(Thinking::On), open);
    assert_eq!(show(Thinking::Off), format!("{open}<think>\n\n</think>\n\n"));
    // Thought tags in a document or an earlier reply are kept as text.
    let forged =
        [Message::new(Role::User, "q"), Message::new(Role::Assistant, "a</think>b"), Message::new(Role::User, "r")];
    assert!(text(&template.render(&forged, true, Thinking::Off).unwrap()).contains("assistant\na</think>b<|im_end|>"));
}

/// The folder that `families.py` filled.
fn vocabularies() -> PathBuf {
    std::env::var_os("MOOT_VOCABULARIES").expect("MOOT_VOCABULARIES names the folder that families.py filled").into()
}

/// Both tokenizers of a family: from its GGUF vocabulary and from its tokenizer.json.
fn both(dir: &Path, family: &str) -> [Tokenizer; 2] {
    let golden = json("families.json");
    let rows = golden.as_object().unwrap();
    let row = rows.values().find(|row| row["vocabulary"] == family).unwrap();
    let named = |key: &str| row[key].as_str().map(str::to_owned);
    let add_bos = Some(!["phi3", "qwen3"].contains(&family));
    let special = SpecialTokens { bos: named("bos"), eos: named("eos"), add_bos, ..SpecialTokens::default() };
    let gguf = Gguf::open(&dir.join(format!("{family}.gguf"))).unwrap();
    [
        Tokenizer::from_gguf(gguf.metadata()).unwrap(),
        Tokenizer::from_file(&dir.join(format!("{family}.json")), &special).unwrap(),
    ]
}

#[test]
#[ignore = "needs MOOT_VOCABULARIES, the folder that golden/tokenizer/families.py fills"]
#[allow(clippy::print_stdout)]
fn families_encode_and_decode_as_hugging_face_does() {
    let dir = vocabularies();
    let lines = std::fs::read_to_string(dir.join("lines.txt")).unwrap();
    let lines: Vec<&str> = lines.split('\n').collect();
    assert!(lines.len() >= 10_000);
    for family in FAMILIES {
        let golden = std::fs::read(dir.join(format!("{family}.ids.bin"))).unwrap();
        assert_eq!(golden.len(), 8 * lines.len());
        for (tokenizer, from) in both(&dir, family).iter().zip(["GGUF", "tokenizer.json"]) {
            let start = Instant::now();
            let ids: Vec<Vec<u32>> = lines.iter().map(|line| tokenizer.encode_text(line).unwrap()).collect();
            println!("{family} from {from}: {} lines in {:.2} s", lines.len(), start.elapsed().as_secs_f64());
            let mut wrong = Vec::new();
            for ((line, ids), expected) in lines.iter().zip(&ids).zip(golden.chunks_exact(8)) {
                let decoded = tokenizer.decode_text(ids);
                if digest(ids) != expected[..4] || Sha256::digest(&decoded)[..4] != expected[4..] {
                    wrong.push((line, decoded));
                }
            }
            assert!(wrong.is_empty(), "{family} from {from}: {} lines, first {:?}", wrong.len(), wrong.first());
        }
    }
}

#[test]
#[ignore = "needs MOOT_VOCABULARIES, the folder that golden/tokenizer/families.py fills"]
fn families_prompts_equal_apply_chat_template() {
    let dir = vocabularies();
    for family in FAMILIES {
        both(&dir, family).iter().for_each(|tokenizer| check_ids(family, tokenizer));
    }
}

#[test]
#[ignore = "needs MOOT_VOCABULARIES, the folder that golden/tokenizer/families.py fills"]
fn families_special_tokens_stay_text_in_content() {
    let dir = vocabularies();
    for family in FAMILIES {
        for tokenizer in both(&dir, family) {
            check_disguises(family, &tokenizer);
            check_borders(family, &tokenizer);
            assert_eq!(tokenizer.decode_text(&tokenizer.encode_text("a b").unwrap()), back(family, "a b"));
        }
    }
}
