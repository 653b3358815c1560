//! Multi-LLM verification ("Multi-LLM Verification for Question Answering under Conflicting Contexts", section 2): several models
//! answer alone, a verifier selects among their answers.

use crate::answers::vote;
use crate::answers::words::Level;
use crate::error::Result;
use crate::generation::Sampling;
use crate::llm::ModelIdentity;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{ANSWER, ANSWERS, Format, SHORT, THOUGHT};
use crate::protocol::readers::SAMPLING;
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Answer, Conclusion, Document, Question};
use crate::transcript::{CallRecord, Parsed};
use serde_json::{Value, json};

const NO_CONTEXT: File = prompt_file!("verification/no_context.jinja");
const CONTEXT: File = prompt_file!("verification/context.jinja");
const CONTEXT_FIRST: File = prompt_file!("verification/context_first.jinja");
const ANSWER_AND_EXPLAIN: File = prompt_file!("verification/answer_and_explain.jinja");
const SEVERAL: File = prompt_file!("verification/several.jinja");
const VERIFIER: File = prompt_file!("verification/verifier.jinja");
const VERIFIER_PLAIN: File = prompt_file!("verification/verifier_plain.jinja");

/// The row of multi-LLM verification.
pub(crate) static ROW: Row = Row {
    name: "verification",
    paper: "Multi-LLM Verification for Question Answering under Conflicting Contexts, section 2 and appendix",
    about: "several models answer from all documents, a verifier selects the best answer and may improve it",
    protocol: "\
1. The roles candidate-1 to candidate-N (`candidates`) answer from all documents, shown with their sources, by one of the
   four single-model prompts (`prompt`). `one-model`: candidate-1 lists up to N answers, and has every later call as well.
2. The verifier reads documents, question and the candidates' answers with their explanations (`explanations`), selects the
   best answer and may improve it. Malformed and unknown replies, and calls that failed, are no choice.
3. With two `rounds` every candidate's model verifies in the first, and the verifier then selects among those answers; with
   `one-model` among the first verified answer and the list.
4. `conclude` majority: every candidate's model verifies in every round, and all answers vote: 3, 6 or 9 with three candidates.
   Equal answers are one; ties go to the answer given first, by round, then by candidate. Without rounds nothing is verified.
5. Where one model has several of these roles, its calls of a round after the first are sampled (temperature 0.7, top-k 40).",
    calls: "candidates x rounds + 1 (4 by default); without rounds candidates; majority candidates x (rounds + 1); one-model 1 + rounds",
    headline: "QACC EM-T: Claude 4 verifies 59.29 (round one), 59.66 (round two), alone 54.98 (table 2)",
    prompts: &[NO_CONTEXT, CONTEXT, CONTEXT_FIRST, ANSWER_AND_EXPLAIN, SEVERAL, VERIFIER, VERIFIER_PLAIN],
    formats: &[&ANSWER, &ANSWERS, &SHORT, &THOUGHT],
    // Those of the default; `Method::roles` has those of the switches.
    roles: &["candidate-1", "candidate-2", "candidate-3", VERIFIER_ROLE],
    switches: &[
        Switch { name: "candidates", about: "answers to select from", kind: Kind::Count(1, 9), default: "3" },
        Switch { name: "rounds", about: "rounds of verification", kind: Kind::Count(0, 2), default: "1" },
        Switch {
            name: "prompt",
            about: "what candidates are asked: without documents, with them, to pick one first, or to explain",
            kind: Kind::Choice(&["no-context", "context", "context-first", "explain"]),
            default: "explain",
        },
        Switch {
            name: "explanations",
            about: "whether verifiers read explanations and give one; false for prompts that give none",
            kind: Kind::Flag,
            default: "true",
        },
        Switch {
            name: "one-model",
            about: "one model lists the answers and verifies them itself",
            kind: Kind::Flag,
            default: "false",
        },
        Switch {
            name: "conclude",
            about: "the verifier's answer, or the answer that most calls of all rounds give",
            kind: Kind::Choice(&["verifier", "majority"]),
            default: "verifier",
        },
    ],
    presets: &[],
    max_tokens: 128,
    needs: Needs::DOCUMENTS,
    build,
};

/// The role that concludes.
const VERIFIER_ROLE: &str = "verifier";

/// One of the four single-model prompts (section 2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Single {
    NoContext,
    Context,
    ContextFirst,
    Explain,
}

impl Single {
    /// The prompt, and the format of its reply.
    fn prompt(self) -> (File, &'static Format) {
        match self {
            Self::NoContext => (NO_CONTEXT, &SHORT),
            Self::Context => (CONTEXT, &SHORT),
            Self::ContextFirst => (CONTEXT_FIRST, &THOUGHT),
            Self::Explain => (ANSWER_AND_EXPLAIN, &ANSWER),
        }
    }

    fn explains(self) -> bool {
        matches!(self, Self::ContextFirst | Self::Explain)
    }
}

struct Verification {
    candidates: usize,
    rounds: usize,
    prompt: Single,
    explanations: bool,
    one_model: bool,
    majority: bool,
}

/// Without rounds there is one candidate, unless a majority concludes; prompts without explanations leave none to read.
fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    let prompt = match values.choice("prompt") {
        "no-context" => Single::NoContext,
        "context" => Single::Context,
        "context-first" => Single::ContextFirst,
        _ => Single::Explain,
    };
    let (rounds, one_model, majority) =
        (values.count("rounds"), values.flag("one-model"), values.choice("conclude") == "majority");
    if one_model && values.is_typed("prompt") {
        return Err(values.wrong("with one-model the prompt is the one that lists answers: expected no switch prompt"));
    }
    if !prompt.explains() {
        if values.is_typed("explanations") && values.flag("explanations") {
            return Err(values.wrong("this prompt gives no explanations: expected prompt explain or context-first"));
        }
        values.set("explanations", false);
    }
    if rounds == 0 && !majority && !one_model {
        if values.is_typed("candidates") && values.count("candidates") > 1 {
            return Err(values.wrong("without rounds nothing selects: expected conclude majority, or candidates 1"));
        }
        values.set("candidates", 1);
    }
    if majority {
        values.set_label("verification (majority)");
    } else if one_model {
        values.set_label("verification (one model)");
    } else if rounds == 0 {
        values.set_label("verification (single model)");
    }
    let (candidates, explanations) = (values.count("candidates"), values.flag("explanations"));
    Ok(Box::new(Verification { candidates, rounds, prompt, explanations, one_model, majority }))
}

/// Answers to select from.
#[derive(Default)]
struct Choices {
    /// With their explanations; empty where there is none.
    answers: Vec<(String, String)>,
    /// The explanation that listed answers share.
    reasons: Option<String>,
}

impl Method for Verification {
    fn roles(&self) -> Option<Vec<String>> {
        let concluding = (self.rounds > 0 && !self.majority && !self.one_model).then(|| VERIFIER_ROLE.to_owned());
        Some(self.panel().into_iter().chain(concluding).collect())
    }

    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let contexts: Vec<Value> = question.documents.iter().map(context).collect();
        let mut calls = stage(ctx, self.first(question, &contexts))?;
        let mut choices = choices(&calls, self.candidates);
        let mut all = calls.clone();
        for round in 1..=self.rounds {
            let concludes = round == self.rounds && !self.majority && !self.one_model;
            let roles = if concludes { vec![VERIFIER_ROLE.to_owned()] } else { self.panel() };
            let ask = |role: String| self.verifier(role, question, &contexts, &choices).round(round + 1);
            calls = stage(ctx, roles.into_iter().map(ask).collect())?;
            all.extend(calls.iter().cloned());
            let verified = self::choices(&calls, self.candidates).answers;
            let listed = if self.one_model { std::mem::take(&mut choices) } else { Choices::default() };
            choices = Choices { answers: verified.into_iter().chain(listed.answers).collect(), ..listed };
        }
        let given = self::choices(&all, self.candidates);
        let conclusion =
            if self.majority { majority(question, &all, &given) } else { concluded(question, &calls, &given) };
        Ok(Conclusion { rounds: self.rounds + 1, ..conclusion })
    }
}

impl Verification {
    /// The roles of the candidates, whose models also verify where more than one does.
    fn panel(&self) -> Vec<String> {
        let count = if self.one_model { 1 } else { self.candidates };
        (1..=count).map(|number| format!("candidate-{number}")).collect()
    }

    /// The candidates' calls.
    fn first(&self, question: &Question, contexts: &[Value]) -> Vec<Ask> {
        let mut values = json!({ "question": question.text, "contexts": contexts });
        if self.one_model {
            values["most"] = self.candidates.into();
            return vec![Ask::new("candidate-1", SEVERAL, values, &ANSWERS)];
        }
        let (prompt, format) = self.prompt.prompt();
        self.panel().into_iter().map(|role| Ask::new(role, prompt, values.clone(), format)).collect()
    }

    /// A call that selects among `choices`.
    fn verifier(&self, role: String, question: &Question, contexts: &[Value], choices: &Choices) -> Ask {
        let candidates: Vec<Value> = choices
            .answers
            .iter()
            .map(|(answer, explanation)| json!({ "answer": answer, "explanation": explanation }))
            .collect();
        let mut values = json!({ "question": question.text, "contexts": contexts, "candidates": candidates });
        if self.explanations {
            values["reasons"] = choices.reasons.clone().into();
            return Ask::new(role, VERIFIER, values, &ANSWER);
        }
        Ask::new(role, VERIFIER_PLAIN, values, &SHORT)
    }
}

/// A document as prompts show it: with the host or publisher that it comes from.
fn context(document: &Document) -> Value {
    json!({ "source": document.source, "text": document.text.trim() })
}

/// The calls of `asks` that were answered. A model that has several of them would reply the same to the same prompt, so all but
/// its first are sampled.
///
/// # Errors
/// As [`Ctx::try_all`]; the first failure where every call failed.
fn stage(ctx: &mut Ctx<'_>, asks: Vec<Ask>) -> Result<Vec<CallRecord>> {
    let mut models: Vec<ModelIdentity> = Vec::new();
    let mut varied = Vec::with_capacity(asks.len());
    for ask in asks {
        let model = ctx.model(&ask.role);
        if !models.iter().any(|known| same(known, model)) {
            models.push(model.clone());
            varied.push(ask);
        } else if ctx.settings().sampling == Sampling::Greedy {
            varied.push(ask.sampling(SAMPLING));
        } else {
            // A run that samples varies already: each call has a seed of its own.
            varied.push(ask);
        }
    }
    let (mut answered, mut failed) = (Vec::new(), None);
    for result in ctx.try_all(&varied)? {
        match result {
            Ok(call) => answered.push(call),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) if answered.is_empty() => Err(error),
        _ => Ok(answered),
    }
}

/// Whether two roles have one model, which may have two names.
fn same(a: &ModelIdentity, b: &ModelIdentity) -> bool {
    // A model on a server has no hash, so its name identifies it.
    if a.sha256.is_empty() { a == b } else { a.sha256 == b.sha256 }
}

/// The answers of `calls`, each with its explanation; of a list, at most `most`.
fn choices(calls: &[CallRecord], most: usize) -> Choices {
    let mut choices = Choices::default();
    for call in calls {
        match &call.parsed {
            Parsed::Answer { answer: Some(answer), explanation } => {
                choices.answers.push((answer.clone(), explanation.clone()));
            }
            Parsed::Answers { answers, explanation } => {
                choices.answers.extend(answers.iter().take(most).map(|answer| (answer.clone(), String::new())));
                choices.reasons = Some(explanation.clone()).filter(|reasons| !reasons.is_empty());
            }
            _ => {}
        }
    }
    choices
}

/// Every one of `given` that is not among `concluded`, once, with the documents that mention it.
fn rejected(question: &Question, given: &Choices, concluded: &[Answer]) -> Vec<Answer> {
    let given = given.answers.iter().map(|(answer, _)| answer.clone());
    let other = given.filter(|answer| !concluded.iter().any(|known| Level::Voted.equal(&known.text, answer)));
    Level::Voted.without_repeats(other).iter().map(|text| vote::mentioned(text, &question.documents)).collect()
}

/// The answer of the last of `calls`; of a list, its first.
fn concluded(question: &Question, calls: &[CallRecord], given: &Choices) -> Conclusion {
    let Some(call) = calls.last() else { return Conclusion { malformed: true, ..Conclusion::default() } };
    let mut conclusion = vote::reader(call, &question.documents);
    conclusion.answers.truncate(1);
    let rejected = rejected(question, given, &conclusion.answers);
    Conclusion { rejected, ..conclusion }
}

/// The answer that most of `all` calls give, the one given first where several do.
fn majority(question: &Question, all: &[CallRecord], given: &Choices) -> Conclusion {
    let votes = vote::count(given.answers.iter().map(|(answer, _)| answer.as_str()));
    let winner = votes.first().map(|(answer, _)| answer.as_str());
    let answers: Vec<Answer> = winner.iter().map(|text| vote::mentioned(text, &question.documents)).collect();
    let reasons = |(answer, explanation): &(String, String)| {
        winner.is_some_and(|winner| Level::Voted.equal(answer, winner)).then(|| explanation.clone())
    };
    Conclusion {
        rejected: rejected(question, given, &answers),
        answers,
        explanation: given.answers.iter().find_map(reasons).unwrap_or_default(),
        malformed: all.iter().all(|call| call.parsed == Parsed::Malformed),
        calls: all.iter().map(|call| call.number).collect(),
        ..Conclusion::default()
    }
}
