//! Several models, each for its roles.

use super::{call, content};
use moot::MootError;
use moot::llm::roles::{Assignment, Roles};
use moot::llm::scripted::Scripted;
use moot::llm::{Call, Llm};

fn speaker(name: &'static str) -> Box<dyn Llm> {
    Box::new(Scripted::new(move |call| format!("{name} to {}", content(call))))
}

fn roles() -> Roles {
    let by_role = [("agent".to_owned(), 0), ("aggregator".to_owned(), 1)].into();
    Roles::new(vec![speaker("first"), speaker("second")], by_role, 0)
}

#[test]
fn calls_of_one_stage_go_to_the_models_of_their_roles() {
    let calls: Vec<Call> = ["agent", "aggregator", "agent", "aggregator", "agent"]
        .into_iter()
        .enumerate()
        .map(|(n, role)| Call { role: role.into(), ..call(&n.to_string()) })
        .collect();
    let mut told = Vec::new();
    let replies = roles().ask_all(&calls, &mut |index, reply| told.push((index, reply.clone()))).unwrap();
    let texts: Vec<&str> = replies.iter().map(|reply| reply.text.as_str()).collect();
    assert_eq!(texts, ["first to 0", "second to 1", "first to 2", "second to 3", "first to 4"]);
    told.sort_by_key(|(index, _)| *index);
    assert!(told.iter().map(|(_, reply)| reply).eq(&replies));
    assert_eq!(roles().ask_all(&[], &mut |_, _| {}).unwrap(), []);
    assert_eq!(roles().ask_all(&calls[..1], &mut |_, _| {}).unwrap()[0].text, "first to 0");
}

#[test]
fn the_failure_of_one_model_is_the_stages() {
    let by_role = [("agent".to_owned(), 0), ("aggregator".to_owned(), 1)].into();
    let roles = Roles::new(vec![speaker("first"), Box::new(Scripted::list(Vec::<String>::new()))], by_role, 0);
    let calls = [call("1"), Call { role: "aggregator".into(), ..call("2") }];
    let mut told = Vec::new();
    let failed = roles.ask_all(&calls, &mut |index, _| told.push(index)).unwrap_err();
    assert!(matches!(failed, MootError::Engine(_)) && told == [0], "{failed:?}");
}

fn usage(result: moot::Result<impl std::fmt::Debug>) -> String {
    match result {
        Err(MootError::Usage(line)) => line,
        other => panic!("{other:?}"),
    }
}

#[test]
fn models_are_assigned_as_people_type() {
    const ROLES: &[&str] = &["agent", "aggregator"];
    let resolved = |typed: &str| {
        let assignment = Assignment::parse(typed).unwrap();
        let models = assignment.resolve("madam-rag", ROLES).unwrap();
        let of = |role: &str| assignment.models[models[role]].clone();
        (of("agent"), of("aggregator"), assignment.models.len())
    };
    let owned = |a: &str, b: &str, n: usize| (a.to_owned(), b.to_owned(), n);
    assert_eq!(resolved("a"), owned("a", "a", 1));
    assert_eq!(resolved("agent=a,aggregator=b"), owned("a", "b", 2));
    assert_eq!(resolved("aggregator=b, a"), owned("a", "b", 2));
    assert_eq!(resolved("agent=a,aggregator=a"), owned("a", "a", 1));
    assert_eq!(resolved("agent=./x=1.gguf,http://h/v1#org/m=2"), owned("./x=1.gguf", "http://h/v1#org/m=2", 2));
    assert_eq!(resolved("/models/q=4.gguf"), owned("/models/q=4.gguf", "/models/q=4.gguf", 1));

    for (typed, said) in [
        ("", "a name is missing"),
        ("agent=", "a name is missing"),
        ("a,b", "two models for the same roles"),
        ("agent=a,agent=b", "agent has two models"),
    ] {
        assert!(usage(Assignment::parse(typed)).contains(said), "{typed}");
    }
    let resolve = |typed: &str| usage(Assignment::parse(typed).unwrap().resolve("madam-rag", ROLES));
    assert!(resolve("a,judge=b").contains("no role \"judge\" (it has: agent, aggregator)"));
    assert!(resolve("agent=a").contains("no model for the role \"aggregator\""));
    assert!(resolve("a,agent=b,aggregator=c").contains("no role is left for a"));
    assert_eq!(Assignment::parse("a").unwrap().only("moot lab bench").unwrap(), "a");
    assert!(
        usage(Assignment::parse("agent=a").unwrap().only("moot lab bench")).contains("moot lab bench has no roles")
    );
}
