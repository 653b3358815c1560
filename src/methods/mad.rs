//! Multiagent debate without retrieval (Du et al., arXiv 2305.14325): agents answer, read each other's answers, and answer
//! again; most of the last answers win.

use crate::answers::vote;
use crate::error::Result;
use crate::generation::{Message, Role, Sampling};
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{CHOICE, SHORT, THOUGHT};
use crate::protocol::passages::{offered, short_answer};
use crate::protocol::presets::Preset;
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Answer, Conclusion, Question};
use crate::transcript::{CallRecord, Parsed};
use serde_json::json;

const FIRST: File = prompt_file!("mad/first.jinja");
const LATER: File = prompt_file!("mad/later.jinja");
const MODERATOR: File = prompt_file!("mad/moderator.jinja");

/// MAD's row.
pub(crate) static ROW: Row = Row {
    name: "mad",
    paper: "Improving Factuality and Reasoning in Language Models through Multiagent Debate (arXiv 2305.14325), section 2",
    about: "agents answer from memory, read each other and answer again; the majority wins",
    protocol: "\
1. Each agent answers the question from memory, sampled (temperature 1, unless the run samples otherwise or with `greedy`).
2. In every later round each agent reads the others' last replies, and answers again in its own chat.
3. The answer that most agents give last is the conclusion. Ties go to the earlier agent. With `moderator`, a moderator reads the
   last replies and gives the answer alone.
Unknown and malformed replies do not vote; the other agents read them as they are.",
    calls: "agents x rounds (6 by default); with a moderator agents x rounds + 1",
    headline: "HotpotQA EM 23.00, StrategyQA EM 66.20: Llama-3.1-8B (DRAG, table 1)",
    prompts: &[FIRST, LATER, MODERATOR],
    formats: &[&THOUGHT, &SHORT, &CHOICE],
    roles: &["agent", "moderator"],
    switches: &[
        Switch { name: "agents", about: "agents that debate", kind: Kind::Count(2, 32), default: "3" },
        Switch { name: "rounds", about: "rounds, the first one counted", kind: Kind::Count(1, 16), default: "2" },
        Switch {
            name: "greedy",
            about: "whether agents decode as the run does, instead of being sampled",
            kind: Kind::Flag,
            default: "false",
        },
        Switch {
            name: "moderator",
            about: "whether a moderator decides, instead of the majority",
            kind: Kind::Flag,
            default: "false",
        },
    ],
    presets: &[Preset {
        name: "reference-code",
        about: "as DRAG's code runs it for its table 1: two agents, three rounds, greedy, a moderator",
        switches: &[("agents", "2"), ("rounds", "3"), ("greedy", "true"), ("moderator", "true")],
    }],
    // Of DRAG's code; the papers name no limit.
    max_tokens: 256,
    needs: Needs::NOTHING,
    build,
};

const SAMPLING: Sampling = Sampling::Seeded { temperature: 1.0, top_k: 0, top_p: 1.0 };

struct Mad {
    agents: usize,
    rounds: usize,
    greedy: bool,
    moderator: bool,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(Mad {
        agents: values.count("agents"),
        rounds: values.count("rounds"),
        greedy: values.flag("greedy"),
        moderator: values.flag("moderator"),
    }))
}

impl Method for Mad {
    fn roles(&self) -> Option<Vec<String>> {
        // A model is opened for each role: without its call the moderator needs none.
        (!self.moderator).then(|| vec!["agent".to_owned()])
    }

    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        // A run that samples varies already: each call has a seed of its own.
        let sampled = !self.greedy && ctx.settings().sampling == Sampling::Greedy;
        let sampled = |ask: Ask| if sampled { ask.sampling(SAMPLING) } else { ask };
        let values = json!({ "question": question.text, "options": offered(question) });
        // All agents read the same first prompt: as samples of one call it is computed once.
        let first = Ask::new("agent", FIRST, values, &THOUGHT).samples(self.agents);
        let mut agents = ctx.ask_all(&[sampled(first)])?;
        for round in 2..=self.rounds {
            let asks: Vec<Ask> = (0..agents.len()).map(|index| sampled(later(&agents, index, round))).collect();
            agents = ctx.ask_all(&asks)?;
        }
        if self.moderator {
            let said: Vec<&str> = agents.iter().map(|call| call.reply.trim()).collect();
            let values = json!({ "question": question.text, "replies": said, "options": offered(question) });
            let ask = Ask::new("moderator", MODERATOR, values, &SHORT).round(self.rounds);
            let verdict = ctx.ask(short_answer(question, ask))?;
            return Ok(Conclusion { rounds: self.rounds, ..vote::reader(&verdict, &[]) });
        }
        let votes = vote::count(agents.iter().filter_map(CallRecord::answer));
        let mut answers: Vec<Answer> = votes.iter().map(|(text, _)| Answer::new(text)).collect();
        let rejected = if answers.is_empty() { Vec::new() } else { answers.split_off(1) };
        Ok(Conclusion {
            answers,
            rejected,
            malformed: agents.iter().all(|call| call.parsed == Parsed::Malformed),
            rounds: self.rounds,
            calls: agents.iter().map(|call| call.number).collect(),
            ..Conclusion::default()
        })
    }
}

/// The next turn of agent `index`, which reads the others' last replies.
fn later(agents: &[CallRecord], index: usize, round: usize) -> Ask {
    let others = agents.iter().enumerate().filter(|(other, _)| *other != index);
    let replies: Vec<&str> = others.map(|(_, call)| call.reply.trim()).collect();
    let mut turns = agents[index].messages.clone();
    turns.push(Message::new(Role::Assistant, agents[index].reply.trim()));
    Ask::new("agent", LATER, json!({ "replies": replies }), &THOUGHT).round(round).after(turns)
}
