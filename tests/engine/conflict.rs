//! Claims against documents: the prompts of one document share it.

use super::{PAGE_BYTES, start_patient};
use moot::Result;
use moot::cancel::Cancel;
use moot::engine::EngineOptions;
use moot::generation::Segment;
use moot::llm::local::Local;
use moot::llm::{Call, Capabilities, Llm, ModelIdentity, OnFailure, OnReply, Reply};
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::switches::Typed;
use moot::question::{Claim, Document, Question};
use moot::transcript::QuestionRecord;

const DOCUMENTS: usize = 30;
const CLAIMS: usize = 20;
const TOKENS: usize = 600;

/// One token a reply: prompts are counted here.
struct Brief(Local);

impl Llm for Brief {
    fn identity(&self) -> &ModelIdentity {
        self.0.identity()
    }

    fn capabilities(&self, role: &str) -> Capabilities {
        self.0.capabilities(role)
    }

    fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        let brief: Vec<Call> = calls.iter().map(|call| Call { max_tokens: 1, ..call.clone() }).collect();
        self.0.answer(&brief, on_failure, on_reply)
    }
}

fn model(share_prefixes: bool) -> Brief {
    let kv_memory = 24_000 * PAGE_BYTES;
    let options = EngineOptions { kv_memory, rows: 64, step_tokens: 512, share_prefixes, speculate: false };
    let identity = ModelIdentity { name: "tiny".into(), context: 8192, ..ModelIdentity::default() };
    Brief(Local::new(start_patient(8192, options), identity, Cancel::default()))
}

/// Documents of just [`TOKENS`] tokens, each with words of its own from the beginning.
fn documents(llm: &Local, count: usize) -> Vec<Document> {
    let tokenizer = &llm.engine().model().tokenizer;
    let tokens = |text: &str| tokenizer.encode_continuation(&[Segment::Content(text.to_owned())]).unwrap().len();
    let document = |number: usize| {
        let mut text = format!("{number} is the number of this document.");
        while tokens(&text) < TOKENS {
            text.push_str(" It says a word more.");
        }
        while tokens(&text) > TOKENS {
            text.pop();
        }
        Document { name: format!("d{number}.txt"), text, ..Document::default() }
    };
    (0..count).map(document).collect()
}

fn record(llm: &Brief, count: usize) -> QuestionRecord {
    let claim = |n: usize| Claim { text: format!("{n} is the number of this claim."), ..Claim::default() };
    let question = Question {
        id: "asked".into(),
        documents: documents(&llm.0, count),
        claims: (0..CLAIMS).map(claim).collect(),
        ..Question::default()
    };
    let built = methods::build("conflict-score", &Typed::from([("labels".to_owned(), "auto".to_owned())])).unwrap();
    built.answer(&question, Tools::new(llm), &Settings::default(), &Silent).unwrap()
}

#[test]
fn thirty_documents_and_twenty_claims_compute_each_document_once() {
    let record = record(&model(true), DOCUMENTS);
    assert_eq!(record.calls.len(), DOCUMENTS * CLAIMS);
    let (mut prompt, mut computed) = (0, 0);
    for document in 0..DOCUMENTS {
        let calls: Vec<_> = record.calls.iter().filter(|call| call.document == Some(document)).collect();
        assert_eq!(calls.len(), CLAIMS);
        let own: Vec<usize> = calls.iter().map(|call| call.usage.computed).collect();
        assert_eq!(own.iter().filter(|&&tokens| tokens >= TOKENS).count(), 1, "document {document}: {own:?}");
        assert!(!own.iter().any(|tokens| (TOKENS / 3..TOKENS).contains(tokens)), "document {document}: {own:?}");
        computed += own.iter().sum::<usize>();
        prompt += calls.iter().map(|call| call.usage.prompt).sum::<usize>();
    }
    assert!(computed * 8 < prompt, "{computed} of {prompt} tokens");
    // Nothing but the instructions is common to two documents.
    assert!(computed > DOCUMENTS * TOKENS, "{computed}");
}

#[test]
fn without_sharing_every_call_computes_its_document() {
    let record = record(&model(false), 2);
    assert!(record.calls.iter().all(|call| call.usage.reused == 0 && call.usage.computed > TOKENS));
}
