//! The method `moot`: each document is read alone, each value is examined in its documents, and arithmetic decides.
//!
//! A debate of small models loses right answers: agents give in, and an aggregator drops what one document alone says. Here a
//! model does what small models do well, which is to read one document, to say yes or no, and to prefer one of two documents;
//! which values hold is decided by a logistic model over a few named quantities ([`features`]).

mod conflict;
mod examine;
mod features;
mod judge;
mod restated;
mod screen;
mod values;

use crate::answers::equality;
use crate::error::Result;
use crate::generation::Logprobs;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{ABOUT, CHOICE};
use crate::protocol::passages::shown;
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Answer, Conclusion, Conflict, Estimate, Question};
use crate::retrieval::fold;
use crate::transcript::{CallRecord, Parsed};
use examine::EXAMINER;
use features::Features;
use judge::JUDGE;
use screen::SCREENER;
use serde_json::json;
use values::Value;

const READER: File = prompt_file!("moot/reader.jinja");

/// Tokens of a reader's reply, which is two lines.
const READER_TOKENS: usize = 96;

/// Values that are examined: those with most votes.
const MOST_VALUES: usize = 12;

/// The row of `moot`.
pub(crate) static ROW: Row = Row {
    name: "moot",
    paper: "none; of this project, section \"How it decides\" of docs/methods/moot.md",
    about: "one reader a document, each value examined in its documents, a logistic model decides",
    protocol: "\
1. A reader reads each document alone, and says what it is about and what it gives as the answer, or unknown. Words of the
   question are cut from the answer's ends. Malformed replies give none, nor words that the document lacks.
2. Equal answers are one value, and so are two of which one contains the other; the longest is its text. Copies are one vote.
3. Skipped if two or more votes agree on the only value. Otherwise an examiner says of each document that gives a value
   whether it states that the value is the answer: the probability of yes beside no, above the model's level in four
   probes. A screener says whether each of these documents describes a subject or says what an answer should be.
4. A judge says which of two documents with different values should be believed, in both orders, if one has a date.
5. A logistic model gives each value a probability: votes, the surest examination, the lowest mean preference against another
   value, mentions elsewhere, how sure the readers were, near copies that give another value, how much its documents steer.
6. Values of at least `threshold` are concluded, best first; if there is none, the best if it has at least `floor`.",
    calls: "3 x documents + 4, at most; with dates 2 x the pairs of documents that disagree (at most 24) more",
    headline: "",
    prompts: &[READER, EXAMINER, SCREENER, JUDGE],
    formats: &[&ABOUT, &CHOICE],
    roles: &["reader", "examiner", "screener", "judge"],
    switches: &[
        Switch {
            name: "threshold",
            about: "least probability of a concluded value",
            kind: Kind::Number(0.0, 1.0),
            default: "0.4",
        },
        Switch {
            name: "floor",
            about: "least probability of the best value where no value reaches the threshold",
            kind: Kind::Number(0.0, 1.0),
            default: "0",
        },
    ],
    presets: &[],
    max_tokens: 128,
    needs: Needs::DOCUMENTS,
    build,
};

struct Moot {
    threshold: f64,
    floor: f64,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(Moot { threshold: values.number("threshold"), floor: values.number("floor") }))
}

impl Method for Moot {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let asks: Vec<Ask> = (0..question.documents.len()).map(|number| reader(question, number)).collect();
        let replies = ctx.ask_all(&asks)?;
        let texts: Vec<&str> = question.documents.iter().map(|document| document.text.as_str()).collect();
        let units = fold::groups(&texts);
        let given: Vec<Option<String>> =
            replies.iter().map(|call| restated::without_question(call.answer()?, &question.text)).collect();
        let values = values::of(&replies, &given, &units, MOST_VALUES);
        let agreed = matches!(values.as_slice(), [only] if only.votes > 1);
        let examined =
            if agreed || values.is_empty() { Vec::new() } else { examine::all(question, &values, &units, ctx)? };
        let resemble = fold::resemblance(&texts);
        let features = features::of(question, &values, &examined, &resemble);
        let mut probable: Vec<usize> = (0..values.len()).collect();
        probable.sort_by(|&a, &b| features[b].probability().total_cmp(&features[a].probability()));
        let judged = judge::all(question, &values, &probable, &units, ctx)?;
        // The examiner and the judge may have had nothing to ask: the calls tell how many rounds there were.
        let rounds = ctx.calls().iter().map(|call| call.round).max().unwrap_or(1);
        let judged = features.into_iter().zip(judged).map(|(features, judged)| features.with(judged));
        let mut weighed: Vec<(&Value, Features, f64)> =
            values.iter().zip(judged).map(|(value, features)| (value, features, features.probability())).collect();
        weighed.sort_by(|a, b| b.2.total_cmp(&a.2));
        let reaches = |least: f64| weighed.iter().filter(|(.., probability)| *probability >= least).count();
        let concluded = match reaches(self.threshold) {
            0 => reaches(self.floor).min(1),
            count => count,
        };
        let conflicts: Vec<Option<Conflict>> = (0..weighed.len())
            .map(|index| {
                let (value, features, _) = weighed[index];
                // The best value is compared with the second, every other one with the best.
                let (other, ..) = weighed.get(usize::from(index == 0))?;
                Some(conflict::between(question, value, other, features.is_less_believed(), &resemble))
            })
            .collect();
        let stated = conclusion(&weighed, &conflicts, concluded, (&replies, &given));
        Ok(Conclusion { rounds, converged: agreed, ..stated })
    }
}

fn reader(question: &Question, number: usize) -> Ask {
    let values = json!({ "question": question.text, "document": shown(&question.documents[number]) });
    Ask::new("reader", READER, values, &ABOUT)
        .document(number)
        .grounded()
        .max_tokens(READER_TOKENS)
        .logprobs(Logprobs::default())
}

/// The first `concluded` values as answers, the others as rejected ones, and after them what too many values left out.
fn conclusion(
    weighed: &[(&Value, Features, f64)],
    conflicts: &[Option<Conflict>],
    concluded: usize,
    (replies, given): (&[CallRecord], &[Option<String>]),
) -> Conclusion {
    let answered = || (0..given.len()).filter(|&number| given[number].is_some());
    let answer = |text: &str, supporters: Vec<usize>| Answer {
        opponents: answered().filter(|number| !supporters.contains(number)).collect(),
        supporters,
        ..Answer::new(text)
    };
    let of_value = |((value, features, probability), conflict): (&(&Value, Features, f64), &Option<Conflict>)| {
        let estimate = Estimate {
            probability: *probability,
            about: value.about.clone(),
            features: features.named().into_iter().map(|(name, x)| (name.to_owned(), x)).collect(),
            conflict: conflict.clone(),
        };
        Answer { estimate: Some(estimate), ..answer(&value.text, value.documents.clone()) }
    };
    let mut answers: Vec<Answer> = weighed.iter().zip(conflicts).map(of_value).collect();
    let mut rejected = answers.split_off(concluded);
    let is_weighed = |number: &usize| weighed.iter().any(|(value, ..)| value.documents.contains(number));
    let left: Vec<usize> = answered().filter(|number| !is_weighed(number)).collect();
    let text = |number: usize| given[number].as_deref().unwrap_or_default();
    rejected.extend(equality::distinct(left.iter().map(|&number| text(number))).iter().map(|other| {
        answer(other, left.iter().copied().filter(|&number| equality::like(other, text(number))).collect())
    }));
    let lines: Vec<String> =
        weighed.iter().map(|(value, features, probability)| features.line(value, *probability)).collect();
    Conclusion {
        answers,
        rejected,
        explanation: lines.join("\n"),
        malformed: replies.iter().all(|call| call.parsed == Parsed::Malformed),
        calls: replies.iter().map(|call| call.number).collect(),
        ..Conclusion::default()
    }
}
