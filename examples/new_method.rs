//! # Add a method
//!
//! ```text
//! cargo run --release --example new_method
//! ```
//!
//! A method is a way to get from a question to a conclusion. This one searches, lets a reader answer several times, asks how
//! probable each answer is, and keeps the answers that a passage entails. It has no paper; it uses everything that a method
//! can ask for.
//!
//! A method is straight-line blocking code over a [`Ctx`]. `ctx.ask_all` sends a whole stage and returns when every reply is
//! there; the engine decodes the replies together and shares the prefix of their prompts. The context renders prompts,
//! derives each call's seed, constrains replies to their format, and records every call and event, so a method cannot
//! forget to.
//!
//! A method's [`Row`] names its paper, its protocol, its prompt files, the formats of its replies, its roles, its switches
//! and what it needs. A file that is used and not listed is an error, because the record would have no hash of it. A method
//! of the program's own has a file in `src/methods/`, its prompts in `src/prompts/<method>/`, and its row in `METHODS`, which
//! help, README and tests read: `docs/adding.md` has the steps.
//!
//! Model, retriever and classifier are scripted here, so this runs without any: a method's logic is tested against replies
//! written beforehand, the malformed ones among them.
#![allow(clippy::print_stdout)]

use moot::Result;
use moot::answers::vote;
use moot::generation::Sampling;
use moot::llm::Capabilities;
use moot::llm::scripted::Scripted;
use moot::nli::ScriptedClassifier;
use moot::prompts::File;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::formats::{SCORES, SHORT};
use moot::protocol::switches::{Kind, Switch, Typed, Values};
use moot::protocol::{Ask, Ctx, Method, Needs, Row};
use moot::question::{Answer, Conclusion, Hit, Origin, Passage, Question};
use moot::retrieval::{Retriever, RetrieverIdentity, Wanted};
use moot::transcript::{Pair, Parsed, Relation};
use serde_json::json;

/// The prompt, compiled in. The program's own prompts use `prompt_file!("method/role.jinja")`.
const READER: File = File { name: "new_method/reader.jinja", text: include_str!("new_method/reader.jinja") };

static ROW: Row = Row {
    name: "entailed-answers",
    paper: "none: an example",
    about: "searches, samples answers, scores them, and keeps what a passage entails",
    protocol: "\
1. The retriever finds passages for the question.
2. The reader answers several times, sampled; each reply begins with words of ours.
3. Every distinct answer is scored: how probable is it after the same prompt?
4. An answer that some passage entails is concluded, the most probable one first; the others are rejected.",
    calls: "samples + distinct answers",
    headline: "",
    prompts: &[READER],
    formats: &[&SHORT, &SCORES],
    roles: &["reader"],
    switches: &[Switch { name: "samples", about: "answers sampled", kind: Kind::Count(1, 64), default: "3" }],
    // A missing requirement is refused before a model is loaded.
    presets: &[],
    max_tokens: 128,
    needs: Needs {
        entailment: true,
        model: Capabilities { prefill: true, scores: true, ..Needs::NOTHING.model },
        ..Needs::RETRIEVER
    },
    build: |values: &mut Values| Ok(Box::new(EntailedAnswers { samples: values.count("samples") })),
};

struct EntailedAnswers {
    samples: usize,
}

/// The words that every reply begins with.
const BEGUN: &str = "The answer is";

impl Method for EntailedAnswers {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        // 1. Retrieval. The passages become documents, so that answers can name them as supporters.
        let wanted = ctx.wanted().clone();
        let hits = ctx.retrieve(&[&question.text], &wanted)?.concat();
        let numbers = ctx.take_up(hits);
        let passages: Vec<String> = ctx.documents().map(|document| document.text.clone()).collect();

        // 2. A prefilled reply: the model continues it. Samples of one ask share their prompt and differ in their seed.
        let values = json!({ "question": question.text, "passages": passages });
        let sampling = Sampling::Seeded { temperature: 0.8, top_k: 0, top_p: 0.95 };
        let ask = Ask::new("reader", READER, values.clone(), &SHORT).prefill(BEGUN);
        let replies = ctx.ask_all(&[ask.sampling(sampling).samples(self.samples)])?;
        let given = replies.iter().filter_map(|call| match &call.parsed {
            Parsed::Answer { answer, .. } => answer.as_deref(),
            _ => None,
        });
        let answers: Vec<String> = vote::count(given).into_iter().map(|(text, _votes)| text).collect();

        // 3. A score: nothing is generated, and every token of the prefill gets its log-probability.
        let scored: Vec<Ask> = answers
            .iter()
            .map(|answer| {
                Ask::new("reader", READER, values.clone(), &SCORES).prefill(format!("{BEGUN} {answer}")).scored()
            })
            .collect();
        let scores = ctx.ask_all(&scored)?;

        // 4. Entailment of every answer by every passage, in one batch.
        let statement = |answer: &String| format!("{} {answer}.", question.text);
        let pairs: Vec<Pair> = answers
            .iter()
            .flat_map(|answer| passages.iter().map(move |passage| (passage, answer)))
            .map(|(passage, answer)| Pair { premise: passage.clone(), hypothesis: statement(answer) })
            .collect();
        let relations = ctx.entail(&pairs)?;

        // 5. The conclusion names the calls whose replies it is, and who stands where.
        let mut judged: Vec<(f32, Answer)> = Vec::new();
        for (index, answer) in answers.iter().enumerate() {
            let row = &relations[index * numbers.len()..][..numbers.len()];
            let of = |keep: fn(&Relation) -> bool| {
                numbers.iter().zip(row).filter(|(_, relation)| keep(relation)).map(|(&number, _)| number).collect()
            };
            let supporters: Vec<usize> = of(|relation| relation.entailment > 0.5);
            let opponents: Vec<usize> = of(|relation| relation.contradiction > 0.5);
            let score = scores[index].mean_score().unwrap_or(f32::NEG_INFINITY);
            judged.push((score, Answer { supporters, opponents, ..Answer::new(answer) }));
        }
        judged.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let (entailed, rest): (Vec<_>, Vec<_>) =
            judged.into_iter().map(|(_, answer)| answer).partition(|answer| !answer.supporters.is_empty());
        Ok(Conclusion {
            answers: entailed,
            rejected: rest,
            malformed: answers.is_empty(),
            rounds: 1,
            calls: replies.iter().map(|call| call.number).collect(),
            ..Conclusion::default()
        })
    }
}

/// Finds the same three passages for everything.
struct Shelf;

impl Retriever for Shelf {
    fn retrieve(&self, _query: &str, wanted: &Wanted) -> Result<Vec<Hit>> {
        let texts =
            ["The bridge opened in 1931.", "The ferry stopped when the bridge opened, in 1931.", "Soup at noon."];
        let hit = |(line, &text): (u64, &&str)| Hit {
            passage: Passage {
                text: text.to_owned(),
                title: None,
                source: None,
                date: None,
                url: None,
                notes: Vec::new(),
                origin: Origin {
                    file: "shelf.txt".into(),
                    id: None,
                    line: Some(line),
                    page: None,
                    characters: 0..text.len() as u64,
                },
            },
            score: 1.0 / line as f32,
            copies: Vec::new(),
        };
        Ok((1..).zip(&texts).take(wanted.top).map(hit).collect())
    }

    fn identity(&self) -> RetrieverIdentity {
        RetrieverIdentity { index: "shelf".into(), mode: "scripted".into(), ..RetrieverIdentity::default() }
    }
}

fn main() -> Result<()> {
    // The script: two samples agree, one differs. The words of a scored text have these log-probabilities.
    let llm = Scripted::list(["1931", "1934", "1931"]).with_scores(|_, word| if word == "1931" { -0.2 } else { -1.5 });
    let classifier = ScriptedClassifier::new(|pair| {
        let holds = pair.hypothesis.split_whitespace().last().is_some_and(|year| pair.premise.contains(year));
        let (entailment, neutral) = if holds { (0.9, 0.1) } else { (0.1, 0.9) };
        Some(Relation { entailment, neutral, contradiction: 0.0 })
    });
    let tools = Tools { retriever: Some(&Shelf), classifier: Some(&classifier), ..Tools::new(&llm) };
    let question = Question { id: "bridge".into(), text: "The bridge opened in".into(), ..Question::default() };

    let method = ROW.build(&Typed::default())?;
    let debate = method.answer(&question, tools, &Settings::default(), &Silent)?;

    let conclusion = debate.conclusion.clone().unwrap_or_default();
    let winner = &conclusion.answers[0];
    println!("{} -> {} (entailed by passages {:?})", question.text, winner.text, winner.supporters);
    for answer in &conclusion.rejected {
        println!("rejected: {}", answer.text);
    }
    println!("{} calls, {} events", debate.calls.len(), debate.events.len());
    assert_eq!((winner.text.as_str(), winner.supporters.as_slice()), ("1931", &[0, 1][..]));
    assert_eq!(conclusion.rejected[0].text, "1934");
    assert_eq!((debate.calls.len(), debate.events.len()), (5, 2));
    Ok(())
}
