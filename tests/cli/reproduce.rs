//! `moot lab reproduce`: samples, prompts of one's own, and rows that lack a corpus.

use super::program::{THREE, Workspace, moot, run, text};
use moot::eval::datasets;
use moot::eval::record::reader::Record;
use moot::methods::replaceable;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// `moot lab reproduce TABLE ..` on the tiny model.
fn reproduce(workspace: &Workspace, typed: &[&str]) -> Command {
    let mut command = moot([&["lab", "reproduce"][..], typed].concat());
    command.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
    command.args(["--model", "tiny.gguf", "--offline", "--kv-memory", "64M", "--max-tokens", "8"]);
    command
}

/// The record of a method on a dataset, in `folder`.
fn record(workspace: &Workspace, folder: &str, table: &str, of: &str) -> Record {
    Record::read(&workspace.path(&format!("{folder}/{table}.{of}.tiny.jsonl"))).unwrap()
}

fn ids(record: &Record) -> BTreeSet<String> {
    record.questions.iter().map(|question| question.question.id.clone()).collect()
}

#[test]
fn a_sample_is_drawn_by_its_seed() {
    let workspace = Workspace::new();
    let set = workspace.path("set.jsonl");
    fs::write(&set, fs::read_to_string(THREE).unwrap().repeat(4)).unwrap();
    let sampled = |folder: &str, seed: &str| {
        let typed = ["madam-rag-1", "--data", "ramdocs=set.jsonl", "--row", "no-rag", "--sample", "3"];
        run(reproduce(&workspace, &[&typed[..], &["--sample-seed", seed, "-o", folder]].concat()))
    };
    let want = |seed: u64| {
        let mut dataset = datasets::load(&set).unwrap();
        dataset.sample(3, seed);
        dataset.questions.into_iter().map(|question| question.id).collect::<BTreeSet<String>>()
    };
    assert_ne!(want(0), want(7), "the seeds draw different questions");
    let said = text(&sampled("seven", "7").stdout);
    let row = said.lines().find(|line| line.starts_with("No RAG") && line.contains("RAMDocs EM")).unwrap();
    assert!(row.ends_with(" 3"), "{said}");
    sampled("zero", "0");
    for (folder, seed) in [("seven", 7), ("zero", 0)] {
        assert_eq!(ids(&record(&workspace, folder, "madam-rag", "ramdocs.closed-book")), want(seed), "{folder}");
    }
    let again = text(&sampled("seven", "7").stderr);
    assert!(again.contains("0 questions (3 recorded before)"), "{again}");
}

#[test]
fn prompts_of_ones_own_go_to_the_rows_that_use_them_and_are_marked() {
    const READER: &str = "concatenated/reader.jinja";
    let workspace = Workspace::new();
    let data = format!("ramdocs={THREE}");
    fs::create_dir_all(workspace.path("mine/concatenated")).unwrap();
    fs::write(workspace.path("mine").join(READER), format!("{}\nBe brief.", replaceable()[READER].text)).unwrap();
    let typed = |rows| ["madam-rag-1", "--data", &data, "-o", "repro", "--prompts", "mine", "--row", rows];
    let said = text(&run(reproduce(&workspace, &typed("no-rag,prompt-based"))).stdout);
    let own = record(&workspace, "repro", "madam-rag", "ramdocs.concatenated");
    assert!(own.header.own_prompts[READER].ends_with("Be brief."), "{:?}", own.header.own_prompts);
    let asked = &own.questions[0].calls[0].messages;
    assert!(asked.iter().any(|message| message.content.contains("Be brief.")), "{asked:?}");
    assert!(record(&workspace, "repro", "madam-rag", "ramdocs.closed-book").header.own_prompts.is_empty());
    let note = said.lines().find(|line| line.contains(&format!("custom prompts: {READER}"))).expect(&said);
    let mark = format!(" {} ", note.split(' ').next().unwrap());
    let marked = |row: &str| said.lines().find(|line| line.starts_with(row) && line.contains("RAMDocs EM")).unwrap();
    let (with, without) = (marked("Prompt-based"), marked("No RAG"));
    assert!(with.contains(&mark) && !without.contains(&mark), "{said}");
    let unused = reproduce(&workspace, &typed("no-rag")).output().unwrap();
    assert!(!unused.status.success());
    assert!(text(&unused.stderr).contains("no method of these rows uses one of the prompts given"), "{unused:?}");
}

/// What a terminal prints of the settings and of the rows that differ is in the other forms too.
#[test]
fn every_form_has_the_settings_or_the_differences_of_rows() {
    const SETTING: &str = "r = 3 rounds; the paper names no limit of tokens, its code has 256";
    const NOTE: &str = "theta 0.8; FLARE's own setting for StrategyQA is 0.4; worked examples with invented facts";
    let workspace = Workspace::new();
    let printed = |table: &str, form: &str| text(&run(reproduce(&workspace, &[table, "--format", form])).stdout);
    let markdown = printed("drag-1", "markdown");
    assert!(markdown.starts_with("Debate-Augmented RAG (DRAG), table 1: "), "{markdown}");
    assert!(markdown.contains(&format!("\n- {SETTING}\n")), "{markdown}");
    assert!(markdown.contains("\n- at most 256 new tokens a reply "), "{markdown}");
    assert!(markdown.contains("\n| FLARE \\[2\\] | NQ EM | 19.40 |"), "{markdown}");
    assert!(markdown.contains(&format!("\n[2] {NOTE}\n")), "{markdown}");
    // Without rows there is no table, and commands make it.
    let figure = printed("ra-rag-figure-4", "markdown");
    assert!(figure.contains("\n- `moot sources trials ") && !figure.contains('|'), "{figure}");
    let csv = printed("drag-1", "csv");
    assert!(csv.lines().next().unwrap().ends_with(",n,differences"), "{csv}");
    let row = |of: &str| csv.lines().find(|line| line.starts_with(of)).expect(&csv);
    assert_eq!(row("FLARE,NQ EM,"), format!("FLARE,NQ EM,19.40,-,-,{NOTE}"));
    assert!(row("DRAG,NQ EM,").ends_with(",-,-,"), "{csv}");
    let json: Value = serde_json::from_str(&printed("drag-1", "json")).unwrap();
    assert_eq!((&json["settings"][2], &json["max_tokens"]), (&SETTING.into(), &256.into()));
    let flare = json["numbers"].as_array().unwrap().iter().find(|one| one["name"] == "flare").unwrap();
    assert_eq!(flare["deviates"], serde_json::json!([NOTE]));
}

/// The paper's prompts offer yes and no on StrategyQA. FlashRAG's file, which the table asks for, has no options.
#[test]
fn strategyqa_as_flashrag_has_it_offers_yes_and_no() {
    let workspace = Workspace::new();
    let row = "{\"id\": \"test_0\", \"question\": \"Is the mill older?\", \"golden_answers\": [\"no\"]}\n";
    fs::write(workspace.path("strategyqa.jsonl"), row).unwrap();
    let typed = ["drag-1", "--data", "strategyqa=strategyqa.jsonl", "--row", "naive-gen", "-o", "repro"];
    let said = text(&run(reproduce(&workspace, &typed)).stderr);
    assert!(!said.contains("is of the form"), "{said}");
    let record = record(&workspace, "repro", "drag", "strategyqa.closed-book+one-answer=true");
    assert_eq!(record.questions[0].question.options, ["yes", "no"]);
}

/// The paper samples 100 questions of those whose documents answer yes and no.
#[test]
fn a_sample_is_one_of_the_questions_that_the_table_measures() {
    let workspace = Workspace::new();
    let page = |query: usize, stance: &str| {
        let text = format!("It was said to be so: {stance}.");
        let url = format!("http://{stance}.example/{query}");
        let row = serde_json::json!({
            "search_query": format!("Is mill {query} old?"), "stance": stance, "url": url, "text_window": text,
            "text_raw": text, "title": "Mills", "category": "Mills",
        });
        format!("{row}\n")
    };
    let both = [3, 7];
    let no = |query| if both.contains(&query) { page(query, "no") } else { String::new() };
    let pages: String = (0..9).map(|query| page(query, "yes") + &no(query)).collect();
    fs::write(workspace.path("cqa.jsonl"), pages).unwrap();
    let typed = ["conflictscore-3", "--data", "conflictingqa=cqa.jsonl", "--row", "plain", "--sample", "2"];
    let output = run(reproduce(&workspace, &[&typed[..], &["-o", "repro"]].concat()));
    let said = text(&output.stderr);
    assert!(said.contains("note: conflictingqa: 2 of 9 questions are measured (gold-conflict)"), "{said}");
    let record = record(&workspace, "repro", "conflictscore", "conflictingqa.conflict-report");
    let texts: BTreeSet<&str> = record.questions.iter().map(|one| one.question.text.as_str()).collect();
    assert_eq!(texts, BTreeSet::from(["Is mill 3 old?", "Is mill 7 old?"]));
    fs::write(workspace.path("cqa.jsonl"), page(0, "yes")).unwrap();
    let refused = reproduce(&workspace, &[&typed[..], &["-o", "other"]].concat()).output().unwrap();
    assert!(text(&refused.stderr).contains("expected questions of the slice gold-conflict"), "{refused:?}");
}

#[test]
fn rows_that_lack_a_corpus_are_left_out_with_a_line() {
    let workspace = Workspace::new();
    let flashrag = "{\"id\": \"q1\", \"question\": \"Who built it?\", \"golden_answers\": [\"Orrin Hale\"]}\n";
    fs::write(workspace.path("nq.jsonl"), flashrag).unwrap();
    let output = run(reproduce(&workspace, &["drag-1", "--data", "nq=nq.jsonl", "-o", "repro"]));
    let said = text(&output.stderr);
    let left_out: Vec<&str> = said
        .lines()
        .filter_map(|line| line.split_once(" is left out: it needs --corpus"))
        .map(|(row, _)| row)
        .collect();
    assert_eq!(left_out, ["Naive RAG", "IRCoT", "Iter-RetGen", "FLARE", "SuRe", "DRAG"], "{said}");
    let mut records: Vec<String> = fs::read_dir(workspace.path("repro"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".jsonl"))
        .collect();
    records.sort();
    let mad = "drag.nq.mad+agents=2+rounds=3+greedy=true+moderator=true.tiny.jsonl";
    assert_eq!(records, ["drag.nq.closed-book+one-answer=true.tiny.jsonl", mad], "the rows that search nothing");
    assert!(text(&output.stdout).lines().any(|line| line.starts_with("Naive Gen") && line.ends_with(" 1")), "{said}");
}
