//! MuSiQue: questions of two to four hops over twenty titled paragraphs, also in HippoRAG's copy.

use super::{Item, Row, fields, multihop};
use crate::error::Result;
use crate::jsonl::Object;
use crate::question::{Document, Gold, Question};

pub(super) const ROW: Row = Row {
    name: "musique",
    about: "questions of two to four hops over titled paragraphs; a part of the full set cannot be answered",
    paper: "Trivedi et al., 2022 (arXiv 2108.00573); github.com/StonyBrookNLP/musique",
    licence: "CC BY 4.0",
    detect: |object| object.has("paragraphs") && (object.has("question_decomposition") || object.has("answerable")),
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let id = fields::id(item, "id", &text);
    let paragraph = |paragraph: &Object| {
        Ok(Document {
            name: paragraph.optional_string("title")?.unwrap_or_default(),
            text: paragraph.string("paragraph_text")?,
            // The test part does not mark them.
            label: fields::flag(paragraph, "is_supporting")?.and_then(multihop::support),
            ..Document::default()
        })
    };
    let documents = object.objects("paragraphs")?.iter().map(paragraph).collect::<Result<Vec<_>>>()?;
    let answerable = fields::flag(object, "answerable")? != Some(false);
    let mut aliases: Vec<String> = object.optional_string("answer")?.into_iter().collect();
    aliases.extend(fields::optional_texts(object, "answer_aliases")?);
    let gold = match (answerable, aliases.is_empty()) {
        (false, _) => Some(Gold::none()),
        (true, true) => None,
        (true, false) => Some(Gold::any_of(aliases)),
    };
    // "2hop__150763_14904", "3hop1__...": the number of hops.
    let mut slices: Vec<String> = id.split_once("hop").map(|(hops, _)| format!("{hops}hop")).into_iter().collect();
    slices.push(if answerable { "answerable" } else { "unanswerable" }.to_owned());
    // The full set asks each question twice under one id, once without its supporting paragraphs.
    let id = if answerable { id } else { format!("{id}-unanswerable") };
    Ok(Question { id, text, documents: fields::named(documents), gold, slices, ..Question::default() })
}
