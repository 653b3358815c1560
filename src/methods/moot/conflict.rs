//! The kind of a conflict between two values, from subjects, dates and texts. It is shown to readers and decides nothing.

use super::values::Value;
use crate::answers::words::Level;
use crate::question::{Conflict, ConflictKind, Question};

/// The conflict of `value` with `other`. `preferred` says that a document of another value was preferred to those of `value`;
/// `resemble` whether two documents are near copies.
pub(super) fn between(
    question: &Question,
    value: &Value,
    other: &Value,
    preferred: bool,
    resemble: &dyn Fn(usize, usize) -> bool,
) -> Conflict {
    let near_copies = || {
        let mut pairs = value.documents.iter().flat_map(|&a| other.documents.iter().map(move |&b| (a, b)));
        pairs.any(|(a, b)| resemble(a, b))
    };
    let newest = |value: &Value| {
        value
            .documents
            .iter()
            .filter_map(|&number| question.documents[number].read_date())
            .max_by_key(|date| date.sort_key())
    };
    let older = || newest(value).zip(newest(other)).is_some_and(|(one, other)| one.order(other).is_lt());
    let kind = if near_copies() {
        ConflictKind::NearCopy
    } else if are_namesakes(&question.text, [&subject(question, value), &subject(question, other)]) {
        ConflictKind::Namesake
    } else if preferred && older() {
        ConflictKind::Outdated
    } else {
        ConflictKind::Disagreement
    };
    Conflict { kind, with: other.text.clone() }
}

/// The words of what a value's first document is about, without those of the document's source and date: readers copy them.
fn subject(question: &Question, value: &Value) -> Vec<String> {
    let document = value.documents.first().map(|&number| &question.documents[number]);
    let known = document.into_iter().flat_map(|document| [&document.source, &document.date]).flatten();
    let known: Vec<String> = known.flat_map(|text| words(text)).collect();
    words(&value.about).into_iter().filter(|word| !known.contains(word)).collect()
}

/// Whether two subjects share a word of the question, and neither has all words of the other: "Ashby Road, Devon" and "Ashby Road,
/// Kent", but not "Ashby Road" and "Ashby Road station". A subject without words is not a namesake.
fn are_namesakes(question: &str, [a, b]: [&[String]; 2]) -> bool {
    let asked = words(question);
    let within = |a: &[String], b: &[String]| a.iter().all(|word| b.contains(word));
    a.iter().any(|word| b.contains(word) && asked.contains(word)) && !within(a, b) && !within(b, a)
}

fn words(text: &str) -> Vec<String> {
    Level::Assessed.words(text).to_vec()
}

#[cfg(test)]
mod tests {
    use super::between;
    use crate::methods::moot::values::Value;
    use crate::question::{ConflictKind, Document, Question};

    fn value(about: &str, document: usize) -> Value {
        let (text, texts) = (format!("value of {document}"), Vec::new());
        Value { text, texts, about: about.into(), documents: vec![document], votes: 1, sureness: 0.0 }
    }

    #[test]
    fn near_copies_subjects_and_dates_name_the_kind() {
        let dated = |date: &str| Document { date: Some(date.into()), ..Document::default() };
        let documents = vec![dated("2019"), dated("2024-03")];
        let question =
            Question { text: "Where is Mira Tolland of Ashby Road?".into(), documents, ..Question::default() };
        let kind = |abouts: [&str; 2], preferred: bool, copies: bool| {
            let (one, other) = (value(abouts[0], 0), value(abouts[1], 1));
            between(&question, &one, &other, preferred, &move |_, _| copies).kind
        };
        let same = ["Ashby Road", "Ashby Road station, Devon"];
        assert_eq!(kind(["Mira Tolland (painter)", "Mira Tolland (pilot)"], true, false), ConflictKind::Namesake);
        assert_eq!(kind(same, true, false), ConflictKind::Outdated);
        assert_eq!(kind(same, false, false), ConflictKind::Disagreement);
        assert_eq!(kind(["", "Ashby Road"], false, false), ConflictKind::Disagreement);
        assert_eq!(kind(["Ashby Road, 2019", "Ashby Road, 2024-03"], true, false), ConflictKind::Outdated);
        assert_eq!(kind(["a ferry", "Ashby Road"], false, false), ConflictKind::Disagreement);
        assert_eq!(kind(same, true, true), ConflictKind::NearCopy);
        for (dates, expected) in [
            (["May 2000", "2019"], ConflictKind::Outdated),
            (["2019", "May 2000"], ConflictKind::Disagreement),
            (["1998", "1998-05"], ConflictKind::Disagreement),
            (["soon", "2019"], ConflictKind::Disagreement),
        ] {
            let question = Question { documents: dates.map(dated).into(), ..Question::default() };
            let kind = between(&question, &value("", 0), &value("", 1), true, &|_, _| false).kind;
            assert_eq!(kind, expected, "{dates:?}");
        }
        let newer = between(&question, &value("a", 1), &value("a", 0), true, &|_, _| false);
        assert_eq!((newer.kind, newer.with.as_str()), (ConflictKind::Disagreement, "value of 0"));
    }
}
