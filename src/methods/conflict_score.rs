//! ConflictScore: the claims of a response, and which documents support and contradict each.
//!
//! The conclusion holds every claim with its labels ([`Conclusion::claims`]); the scores are computed from it
//! (`crate::assess::score`). The two stages are `protocol::labelling::decomposer` and `judge` there, which methods that use
//! the score as feedback call too.

use crate::error::Result;
use crate::protocol::claims::{CLAIM_LABEL, CLAIM_LABELS, CLAIMS};
use crate::protocol::equality::Equality;
use crate::protocol::labelling::decomposer::{self, DECOMPOSER, Extent, Text, decompose};
use crate::protocol::labelling::settings::{self, By, LABELS, Labelling, ORDER, Quotes, TUNED};
use crate::protocol::labelling::{AGAIN, LABEL_WEIGHTS, LABELLER, SCORED, TOGETHER, judge};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ctx, Method, Needs, Row};
use crate::question::{Answer, Conclusion, JudgedClaim, Question};
use crate::retrieval::fold;

/// The answer where a claim has supporters and contradictors.
pub(crate) const CONFLICT: &str = "Conflict";
/// The answer where none has.
const NO_CONFLICT: &str = "No Conflict";

/// ConflictScore's row.
pub static ROW: Row = Row {
    name: "conflict-score",
    paper: "ConflictScore, sections 3 and 4, appendix B",
    about: "labels each claim of a response against each document, with quotes, and says whether documents conflict",
    protocol: "\
1. The claims: those of the question; else those that the decomposer finds in its response (`most` at most); else, with neither,
   those that it finds in each document (`per-document` at most), copies merged. A list that cannot be read: its sentences.
2. The evidence: the documents of the question; without any, the passages found for each claim.
3. The labeller labels every claim against every document SUPPORTS, CONTRADICTS or IRRELEVANT with a quote of the document and a
   reason. With labels=scored, its log-probabilities of the three words, weighed (`label-weights`), are the probabilities of the
   labels instead: the most probable one counts, and its quote is requested with the label given. With labels=entailment,
   entailment decides; with both it decides first, and the labeller what is uncertain.
4. A malformed or failed label does not count and is shown. With quotes=sentences or words neither does one whose quote is not in
   the document; such a quote is asked for once more where no grammar constrained the reply.
5. Conflict if some claim has supporters and contradictors, else No Conflict; malformed where every label is malformed or failed.",
    calls: "1 + claims x documents, where the response is one part; with `together` 1 + claims, more where documents do not fit into one call; a retry is one more; labels=scored one more a label for or against; labels=entailment one more a sentence of each document for or against, with a classifier no call for labels",
    headline: "ConflictBench F1 0.937, accuracy 0.932 with GPT-4.1 (table 2)",
    prompts: &[DECOMPOSER, LABELLER, SCORED, TOGETHER, AGAIN],
    formats: &[&CLAIMS, &CLAIM_LABEL, &CLAIM_LABELS],
    roles: &[decomposer::ROLE, settings::ROLE],
    switches: &[CLAIMS_SWITCH, MOST, PER_DOCUMENT, LABELS, LABEL_WEIGHTS, CERTAIN, ORDER, QUOTES, TOGETHER_SWITCH, REASONS],
    presets: &[TUNED],
    // The paper names no limit, and its code is not published. Lists of claims and labels have limits of their own.
    max_tokens: 128,
    needs: Needs { entailment: true, ..Needs::PASSAGES },
    build,
};

const CLAIMS_SWITCH: Switch = Switch {
    name: "claims",
    about: "every claim of the response, the most important ones, or the whole response as one",
    kind: Kind::Choice(&["atomic", "salient", "whole"]),
    default: "atomic",
};
const MOST: Switch = Switch {
    name: "most",
    about: "claims of a response at most; 3 by default for salient ones",
    kind: Kind::Count(1, 500),
    default: "40",
};
const PER_DOCUMENT: Switch = Switch {
    name: "per-document",
    about: "claims taken from each document where there is no response",
    kind: Kind::Count(1, 50),
    default: "5",
};

const CERTAIN: Switch = Switch {
    name: "certain",
    about: "probability from which on entailment decides (labels=both)",
    // The most probable of three relations always has a third: anything less would be no condition.
    kind: Kind::Number(0.34, 1.0),
    default: "0.9",
};
const QUOTES: Switch = Switch {
    name: "quotes",
    about: "form of a quote: any text (a label counts without one), one or two sentences, a run of words, or none (needs labels=scored); the default is sentences if label-first is the default",
    kind: Kind::Choice(&["sentences", "words", "any", "none"]),
    default: "any",
};
const TOGETHER_SWITCH: Switch = Switch {
    name: "together",
    about: "labels a claim against all documents in one call, or in a few where they do not fit into the context",
    kind: Kind::Flag,
    default: "false",
};

const REASONS: Switch = Switch {
    name: "reasons",
    about: "whether a reason follows the quote in replies; labels and quotes do not depend on it",
    kind: Kind::Flag,
    default: "true",
};

/// Claims of documents that are compared with each other by a classifier, at most: it reads each ordered pair.
const COMPARED: usize = 100;

struct ConflictScore {
    extent: Extent,
    most: usize,
    per_document: usize,
    labelling: Labelling,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    let extent = match values.choice("claims") {
        "whole" => Extent::Whole,
        "salient" => Extent::Salient,
        _ => Extent::All,
    };
    if extent == Extent::Salient && !values.is_typed("most") {
        values.set("most", 3);
    }
    let replies_as_paper = values.choice(LABELS.name) == LABELS.default && values.flag("reasons");
    if !replies_as_paper || values.flag("together") {
        for (name, value) in [("order", "label-first"), ("quotes", "sentences")] {
            if !values.is_typed(name) {
                values.set(name, value);
            }
        }
    }
    refuse(values)?;
    let labelling = Labelling {
        certain: values.number("certain") as f32,
        label_first: values.choice("order") == "label-first",
        quotes: match values.choice("quotes") {
            "words" => Quotes::Words,
            "any" => Quotes::Any,
            "none" => Quotes::None,
            _ => Quotes::Sentences,
        },
        together: values.flag("together"),
        reasons: values.flag("reasons"),
        ..Labelling::of(values)?
    };
    if matches!(labelling.by, By::Scored(_)) {
        refuse_beside_scores(values)?;
    } else if labelling.quotes == Quotes::None {
        return Err(values.wrong("quotes none: a label without a quote counts if it is scored: expected labels scored"));
    } else if values.object(LABEL_WEIGHTS.name).is_some() {
        return Err(values.wrong("label-weights needs labels=scored"));
    }
    let (most, per_document) = (values.count("most"), values.count("per-document"));
    Ok(Box::new(ConflictScore { extent, most, per_document, labelling }))
}

/// Refuses switches that would have no effect together.
fn refuse(values: &Values) -> Result<()> {
    let quote_first = values.choice("order") == "quote-first";
    if quote_first && !values.flag("reasons") {
        return Err(values.wrong("with order quote-first the label follows the reason: expected order label-first"));
    }
    let others = [
        ("order", quote_first),
        ("quotes", !["sentences", "any"].contains(&values.choice("quotes"))),
        ("reasons", !values.flag("reasons")),
    ];
    if values.flag("together")
        && let Some((name, _)) = others.iter().find(|(_, set)| *set)
    {
        let reason =
            "with together a reply has a label and a quote for each document, sentences or any, without reasons";
        return Err(values.wrong(&format!("{reason}: expected no switch {name}")));
    }
    Ok(())
}

/// Refuses switches of replies if labels are scored.
fn refuse_beside_scores(values: &Values) -> Result<()> {
    let others = [("order", values.choice("order") == "quote-first"), ("together", values.flag("together"))];
    match others.iter().find(|(_, set)| *set) {
        Some((name, _)) => {
            Err(values.wrong(&format!("labels scored score each pair first: expected no switch {name}")))
        }
        None => Ok(()),
    }
}

impl Method for ConflictScore {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let claims = self.claims(question, ctx)?;
        let judged = judge(ctx, &self.labelling, claims)?;
        Ok(conclusion(judged))
    }
}

impl ConflictScore {
    /// The claims to be labelled, each with the document that it is from, if any.
    fn claims(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Vec<(String, Option<usize>)>> {
        if !question.claims.is_empty() {
            return Ok(question.claims.iter().map(|claim| (claim.text.clone(), None)).collect());
        }
        if !question.responses.is_empty() {
            let text = |response| Text { question: &question.text, text: response, from: None };
            let texts: Vec<Text<'_>> = question.responses.iter().map(|response| text(response)).collect();
            let claims = decompose(ctx, &texts, self.extent, self.most)?;
            return Ok(claims.into_iter().flatten().map(|claim| (claim, None)).collect());
        }
        self.of_documents(question, ctx)
    }

    /// The claims of each document; of those that say the same the first. They do where their words are nearly the same, and, with
    /// a classifier, where each entails the other.
    fn of_documents(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Vec<(String, Option<usize>)>> {
        let numbered = question.documents.iter().enumerate().filter(|(_, document)| !document.text.trim().is_empty());
        let texts: Vec<Text<'_>> = numbered
            // A question only makes a short answer a statement; a document has whole sentences.
            .map(|(number, document)| Text { question: "", text: &document.text, from: Some(number) })
            .collect();
        let found = decompose(ctx, &texts, Extent::Salient, self.per_document)?;
        let claims: Vec<(String, Option<usize>)> = texts
            .iter()
            .zip(found)
            .flat_map(|(text, claims)| claims.into_iter().map(|claim| (claim, text.from)))
            .collect();
        // Copies are merged by their words first: the classifier reads every ordered pair of what is left.
        let texts: Vec<&str> = claims.iter().map(|(claim, _)| claim.as_str()).collect();
        let claims: Vec<(String, Option<usize>)> =
            fold::groups(&texts).iter().filter_map(|group| claims.get(*group.first()?).cloned()).collect();
        if !ctx.classifies() {
            return Ok(claims);
        }
        if claims.len() > COMPARED {
            ctx.fall_back(format!(
                "{} claims are too many to be compared by meaning (at most {COMPARED}): copies were merged by their words",
                claims.len()
            ));
            return Ok(claims);
        }
        let texts: Vec<&str> = claims.iter().map(|(claim, _)| claim.as_str()).collect();
        let classes = Equality::Entailment.classes(question, &texts, ctx)?;
        let mut known = Vec::new();
        let first = |class: &Option<usize>| {
            let is_new = class.is_none_or(|class| !known.contains(&class));
            known.extend(*class);
            is_new
        };
        let firsts: Vec<bool> = classes.iter().map(first).collect();
        Ok(claims.into_iter().zip(firsts).filter_map(|(claim, first)| first.then_some(claim)).collect())
    }
}

/// Conflict or No Conflict, with every claim; no answer without a claim, and a malformed one without a label.
fn conclusion(claims: Vec<JudgedClaim>) -> Conclusion {
    let conflicting = claims.iter().filter(|claim| claim.conflicts()).count();
    let answer = if conflicting > 0 { CONFLICT } else { NO_CONFLICT };
    let unlabelled = JudgedClaim::unlabelled(&claims);
    let answers = if claims.is_empty() || unlabelled { Vec::new() } else { vec![Answer::new(answer)] };
    let calls = claims.iter().flat_map(|claim| &claim.labels).flat_map(|label| label.calls.iter().copied()).collect();
    let explanation = if unlabelled {
        let labels = claims.iter().map(|claim| claim.labels.len()).sum::<usize>();
        format!("all {labels} labels are malformed or failed")
    } else {
        format!("{conflicting} of {} claims have supporters and contradictors", claims.len())
    };
    Conclusion {
        answers,
        explanation,
        malformed: unlabelled,
        rounds: 1,
        calls,
        claims: Some(claims),
        ..Conclusion::default()
    }
}
