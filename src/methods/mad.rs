//! Multiagent debate without retrieval (Du et al., arXiv 2305.14325): agents answer, read each other's answers, and answer
//! again; most of the last answers win.

use crate::answers::vote;
use crate::error::Result;
use crate::generation::{Message, Role, Sampling};
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::ANSWER;
use crate::protocol::passages::offered;
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Answer, Conclusion, Question};
use crate::transcript::{CallRecord, Parsed};
use serde_json::json;

const FIRST: File = prompt_file!("mad/first.jinja");
const LATER: File = prompt_file!("mad/later.jinja");

/// MAD's row.
pub(crate) static ROW: Row = Row {
    name: "mad",
    paper: "Improving Factuality and Reasoning in Language Models through Multiagent Debate (arXiv 2305.14325), section 2",
    about: "agents answer from memory, read each other and answer again; the majority wins",
    protocol: "\
1. Each agent answers the question from memory, sampled (temperature 1, unless the run samples otherwise).
2. In every later round each agent reads the others' last replies, and answers again in its own chat.
3. The answer that most agents give last is the conclusion. Ties go to the earlier agent.
Unknown and malformed replies do not vote; the other agents read them as they are.",
    calls: "agents x rounds (6 by default)",
    headline: "HotpotQA EM 23.00, StrategyQA EM 66.20: Llama-3.1-8B (DRAG, table 1)",
    prompts: &[FIRST, LATER],
    formats: &[&ANSWER],
    roles: &["agent"],
    switches: &[
        Switch { name: "agents", about: "agents that debate", kind: Kind::Count(2, 32), default: "3" },
        Switch { name: "rounds", about: "rounds, the first one counted", kind: Kind::Count(1, 16), default: "2" },
    ],
    presets: &[],
    needs: Needs::NOTHING,
    build,
};

const SAMPLING: Sampling = Sampling::Seeded { temperature: 1.0, top_k: 0, top_p: 1.0 };

struct Mad {
    agents: usize,
    rounds: usize,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(Mad { agents: values.count("agents"), rounds: values.count("rounds") }))
}

impl Method for Mad {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let sampled = ctx.settings().sampling == Sampling::Greedy;
        let sampled = |ask: Ask| if sampled { ask.sampling(SAMPLING) } else { ask };
        let values = json!({ "question": question.text, "options": offered(question) });
        let first = Ask::new("agent", FIRST, values, &ANSWER).samples(self.agents);
        let mut agents = ctx.ask_all(&[sampled(first)])?;
        for round in 2..=self.rounds {
            let asks: Vec<Ask> = (0..agents.len()).map(|index| sampled(later(&agents, index, round))).collect();
            agents = ctx.ask_all(&asks)?;
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
    Ask::new("agent", LATER, json!({ "replies": replies }), &ANSWER).round(round).after(turns)
}
