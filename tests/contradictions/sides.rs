//! Sides of a contradiction whose documents write one value in several units.

use super::{Watch, asked, find_with, folder, read};
use moot::llm::Call;
use moot::llm::scripted::Scripted;

/// The numbers of statements of the sides of three documents, and whether each side is the odd one out. The judge fills blanks
/// with the value of the text, and sees a contradiction where `odd` is beside another one.
fn sides(sentence: &str, values: [&str; 3], odd: &str) -> Vec<(Vec<String>, usize, bool)> {
    let texts = values.map(|value| format!("{}\n", sentence.replace("____", value)));
    let files = folder(&[("a.txt", &texts[0]), ("b.txt", &texts[1]), ("c.txt", &texts[2])]);
    let (values, odd) = (values.map(str::to_owned), odd.to_owned());
    let judge = Scripted::new(move |call: &Call| {
        let has = |value: &&String| asked(call).contains(value.as_str());
        match call.grammar.as_ref().map_or("", |grammar| &*grammar.name) {
            "reply/choice.lark" if has(&&odd) && values.iter().filter(has).count() > 1 => "contradicts".into(),
            "reply/choice.lark" => "neither".into(),
            _ => values.iter().find(has).cloned().unwrap_or_default(),
        }
    });
    let report = find_with(&read(files.path()).unwrap(), &judge, None, &Watch::default()).unwrap();
    let findings: Vec<_> = report.findings().collect();
    assert_eq!(findings.len(), 1, "{report:#?}");
    findings[0].sides.iter().map(|side| (side.values.clone(), side.statements.len(), side.odd)).collect()
}

#[test]
fn one_length_in_two_units_is_one_side() {
    let found = sides("The pipeline of Orm is ____ long.", ["3 km", "5 km", "3000 metres"], "5 km");
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!((found[0].1, found[0].2), (2, false), "{found:?}");
    assert_eq!(found[1], (vec!["5 km".to_owned()], 1, true));
}

#[test]
fn one_time_in_two_units_is_one_side() {
    let found = sides("A fishing licence of Orm lasts ____.", ["36 months", "24 months", "2 years"], "36 months");
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!((found[0].1, found[0].2), (2, false), "{found:?}");
    assert_eq!(found[1], (vec!["36 months".to_owned()], 1, true));
}
