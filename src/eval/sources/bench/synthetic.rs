//! Invented questions with invented answers, for a benchmark without a dataset: no model knows them from elsewhere.

use super::Pool;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A kind of question: `{s}` is its subject, `{v}` an answer.
struct Theme {
    question: &'static str,
    /// Nine ways to say the answer.
    says: [&'static str; 9],
    value: fn(&mut ChaCha8Rng) -> String,
}

const THEMES: [Theme; 3] = [
    Theme {
        question: "In which year did the {s} bridge open?",
        says: [
            "The {s} bridge opened in {v}. It carries one road and a footpath.",
            "After long works the {s} bridge was opened to traffic in {v}.",
            "In {v} the first carts crossed the new {s} bridge.",
            "The town keeps {v} as the year in which its {s} bridge opened.",
            "A plaque on the {s} bridge gives {v} as the year of its opening.",
            "The opening of the {s} bridge in {v} ended the ferry's trade.",
            "Records of the county date the opening of the {s} bridge to {v}.",
            "When the {s} bridge opened in {v}, it was the longest of its district.",
            "The {s} bridge, open since {v}, has been repaired twice.",
        ],
        value: |random| random.random_range(1800..2000_u32).to_string(),
    },
    Theme {
        question: "Which town has the {s} glassworks?",
        says: [
            "The {s} glassworks stand in {v}, near the railway.",
            "Glass of the house of {s} comes from its works in {v}.",
            "The town of {v} is known for the {s} glassworks.",
            "Visitors find the {s} glassworks in {v}, beside the canal.",
            "The {s} glassworks moved once, and have been in {v} ever since.",
            "Some eighty people of {v} work at the {s} glassworks.",
            "The furnaces of the {s} glassworks are in {v}.",
            "A museum in {v} tells the story of the {s} glassworks.",
            "In the guide the {s} glassworks are listed under {v}.",
        ],
        value: |random| format!("{}{}", name(random), ["burg", "wick", "haven", "stead"][random.random_range(0..4)]),
    },
    Theme {
        question: "Who designed the {s} lighthouse?",
        says: [
            "The {s} lighthouse was designed by {v}.",
            "{v} drew the plans of the {s} lighthouse.",
            "The architect of the {s} lighthouse was {v}.",
            "For the {s} lighthouse the harbour board took the design of {v}.",
            "The {s} lighthouse is a work of {v}.",
            "Among the towers that {v} designed is the {s} lighthouse.",
            "The drawings of the {s} lighthouse are signed by {v}.",
            "{v} won the contest for the {s} lighthouse and designed it.",
            "The keeper's book names {v} as the designer of the {s} lighthouse.",
        ],
        value: |random| format!("{} {}", name(random), name(random)),
    },
];

const HEADS: [&str; 20] = [
    "Bar", "Cal", "Dor", "El", "Fen", "Gar", "Hol", "Ker", "Lor", "Mar", "Nor", "Os", "Pel", "Quor", "Ran", "Sel",
    "Tor", "Ul", "Var", "Wen",
];
const TAILS: [&str; 20] = [
    "a", "ana", "dal", "den", "eth", "ic", "ila", "in", "ka", "land", "lo", "mir", "na", "or", "ra", "ric", "sa",
    "ton", "va", "wyn",
];

fn name(random: &mut ChaCha8Rng) -> String {
    HEADS[random.random_range(0..HEADS.len())].to_owned() + TAILS[random.random_range(0..TAILS.len())]
}

/// Wrong answers of a question, and documents of each (section 4).
const WRONG: usize = 9;
const DOCUMENTS: usize = 3;

/// This many questions, each about a subject of its own: nine factual documents, nine wrong answers with three documents each.
#[must_use]
pub fn pools(count: usize, seed: u64) -> Vec<Pool> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|number| pool(number, &mut random)).collect()
}

fn pool(number: usize, random: &mut ChaCha8Rng) -> Pool {
    let theme = &THEMES[number % THEMES.len()];
    // Two names and a number never come twice.
    let subject = format!("{} {} {}", name(random), name(random), number + 1);
    let say = |says: &str, value: &str| says.replace("{s}", &subject).replace("{v}", value);
    let mut values: Vec<String> = Vec::new();
    while values.len() <= WRONG {
        let value = (theme.value)(random);
        // A subject that holds an answer would put it into every document.
        if !values.contains(&value) && !subject.contains(&value) {
            values.push(value);
        }
    }
    let gold = values.remove(0);
    let wrong = values.into_iter().map(|value| {
        let mut says = theme.says;
        says.shuffle(random);
        let texts = says.iter().take(DOCUMENTS).map(|says| say(says, &value)).collect();
        (value, texts)
    });
    let wrong = wrong.collect();
    Pool {
        id: format!("synthetic-{}", number + 1),
        text: theme.question.replace("{s}", &subject),
        factual: theme.says.iter().map(|says| say(says, &gold)).collect(),
        gold: vec![gold],
        wrong,
    }
}
