//! Lists of English words.

/// Words without content, in lower case.
#[rustfmt::skip]
pub(super) const STOP: &[&str] = &[
    "a", "an", "the", "and", "or", "but", "if", "of", "at", "by", "for", "with", "about", "into", "to", "from", "in", "on", "off",
    "out", "over", "under", "is", "are", "was", "were", "be", "been", "being", "am", "has", "have", "had", "having", "do", "does",
    "did", "doing", "will", "would", "shall", "should", "can", "could", "may", "might", "must", "it", "its", "he", "she", "his",
    "her", "him", "they", "them", "their", "we", "us", "our", "you", "your", "i", "me", "my", "this", "that", "these", "those",
    "there", "here", "as", "so", "than", "then", "too", "very", "just", "also", "only", "own", "same", "such", "which", "who",
    "whom", "what", "when", "where", "while", "how", "all", "each", "any", "some", "both", "few", "more", "most", "other", "up",
    "down", "again", "once", "per", "via", "s", "t", "d", "ll", "re", "ve", "m", "one", "now",
];

/// Articles of languages that are read without being supported.
#[rustfmt::skip]
pub(super) const ARTICLES: &[&str] = &[
    "das", "de", "dem", "den", "der", "des", "die", "du", "een", "ein", "eine", "einem", "einen", "einer", "el", "gli", "het", "il",
    "la", "las", "le", "les", "lo", "los", "os", "um", "uma", "un", "una", "une",
];

/// Negations.
#[rustfmt::skip]
pub(super) const NEGATIONS: &[&str] = &[
    "not", "no", "never", "none", "neither", "nor", "without", "cannot", "nobody", "nothing", "nowhere", "isn't", "aren't",
    "wasn't", "weren't", "doesn't", "don't", "didn't", "hasn't", "haven't", "hadn't", "won't", "wouldn't", "can't", "couldn't",
    "shouldn't", "mustn't", "needn't", "lacks", "lacked", "lacking", "fails", "failed", "refuses", "refused", "unable", "denies",
    "denied", "rarely", "hardly",
];

/// Words of plans, proposals and estimates.
#[rustfmt::skip]
pub(super) const PLANS: &[&str] = &[
    "proposed", "propose", "proposes", "planned", "plans", "draft", "intended", "budgeted", "estimated", "expected", "suggested",
];

/// Reporting verbs; before "that" they introduce reported speech.
#[rustfmt::skip]
pub(super) const REPORTS: &[&str] = &[
    "say", "says", "said", "claim", "claims", "claimed", "write", "writes", "wrote", "state", "states", "stated", "report",
    "reports", "reported", "believe", "believed", "thought", "maintains", "insists", "insisted",
];

/// Words at the beginning of a sentence that refer to the sentence before it.
pub(super) const POINTING: [&str; 5] = ["that", "this", "it", "these", "those"];

/// Words of a rule that permits something.
#[rustfmt::skip]
pub(super) const PERMITS: &[&str] = &[
    "may", "can", "allowed", "allows", "allow", "permitted", "permits", "permit", "welcome", "welcomed", "accepted", "admitted",
    "free", "possible", "available", "offered", "encouraged",
];

/// Words of a rule that forbids something.
#[rustfmt::skip]
pub(super) const FORBIDS: &[&str] = &[
    "forbidden", "forbids", "prohibited", "prohibits", "banned", "bans", "disallowed", "excluded", "impossible", "unavailable",
    "refrain", "avoid",
];

/// Prefixes that make a word its opposite.
pub(super) const OPPOSING: [&str; 3] = ["un", "non", "dis"];

/// Opposites.
#[rustfmt::skip]
pub(super) const OPPOSITES: &[(&[&str], &[&str])] = &[
    (&["open", "opens", "opened"], &["closed", "closes", "shut"]),
    (&["allowed", "permitted", "permits", "allows", "welcome", "may"], &["forbidden", "prohibited", "banned", "prohibits", "forbids", "bans", "disallowed"]),
    (&["mandatory", "required", "compulsory", "requires", "obligatory", "must"], &["optional", "voluntary", "unnecessary", "unneeded"]),
    (&["free"], &["paid", "charge", "charged", "fee", "costs"]),
    (&["before"], &["after"]),
    (&["increase", "increased", "increases", "rose", "rise", "grew", "growth", "higher", "up"], &["decrease", "decreased", "decreases", "fell", "fall", "shrank", "decline", "declined", "lower", "dropped", "down"]),
    (&["north", "northern"], &["south", "southern"]),
    (&["east", "eastern"], &["west", "western"]),
    (&["left"], &["right"]),
    (&["accepted", "approved", "approves", "adopted", "passed"], &["rejected", "declined", "refused", "turned", "defeated"]),
    (&["included", "includes", "including", "include"], &["excluded", "excludes", "excluding", "exclude", "extra"]),
    (&["enabled", "on", "enables"], &["disabled", "off", "disables"]),
    (&["public", "open"], &["private", "confidential"]),
    (&["survived", "intact", "undamaged", "unharmed"], &["destroyed", "lost", "demolished", "perished"]),
    (&["safe"], &["unsafe", "dangerous"]),
    (&["won", "win"], &["lost", "lose"]),
    (&["indoor", "inside", "indoors"], &["outdoor", "outside", "outdoors"]),
    (&["always"], &["never", "sometimes"]),
    (&["daily"], &["weekly", "monthly"]),
    (&["weekly"], &["monthly", "quarterly"]),
    (&["monthly"], &["quarterly", "annually", "yearly"]),
    (&["morning"], &["evening", "afternoon"]),
    (&["minimum", "least"], &["maximum", "most"]),
    (&["first"], &["last", "second"]),
    (&["alive", "living"], &["dead", "died"]),
    (&["manual", "manually"], &["automatic", "automatically"]),
    (&["encrypted"], &["unencrypted", "plaintext"]),
    (&["resistant", "waterproof"], &["vulnerable"]),
    (&["hot", "warm"], &["cold", "cool"]),
    (&["raw"], &["cooked", "pasteurised", "pasteurized"]),
    (&["supported", "supports"], &["unsupported", "dropped"]),
    (&["possible", "available"], &["impossible", "unavailable"]),
    (&["permanent"], &["temporary"]),
    (&["single", "alone"], &["double", "pairs", "together"]),
];

/// Words of scopes. Each row lists parts that exclude each other, each part its words.
#[rustfmt::skip]
pub(super) const SCOPES: &[&[&[&str]]] = &[
    &[&["weekday", "weekdays"], &["saturday", "saturdays", "sunday", "sundays", "weekend", "weekends"]],
    &[&["staging", "test", "testing"], &["production", "live"], &["development", "dev"]],
    &[&["adult", "adults"], &["child", "children", "infants", "babies"], &["senior", "seniors"]],
    &[&["summer"], &["winter"], &["spring"], &["autumn"]],
    &[&["debug"], &["release"]],
    &[&["minimum"], &["maximum"]],
    &[&["male", "men", "boys"], &["female", "women", "girls"]],
    &[&["basic", "free", "standard"], &["premium", "team", "enterprise", "business", "professional", "pro"]],
    &[&["full-time"], &["part-time"]],
    &[&["half"], &["full", "whole"]],
    &[&["daytime", "day"], &["night", "overnight"]],
];

/// Words that call a statement an error, or correct one.
#[rustfmt::skip]
pub(super) const CORRECTIONS: &[&str] = &[
    "incorrect", "incorrectly", "wrong", "wrongly", "mistake", "mistaken", "mistakenly", "erroneous", "erroneously", "error",
    "misprint", "misprinted", "typo", "corrected", "correction", "corrects", "correct", "contrary", "myth", "untrue", "false",
    "falsely", "retracted", "retraction", "disproved", "misquoted", "misreported", "misread", "misstated", "slip", "erratum",
    "inaccurate", "confused", "disputed", "claimed", "rumour", "rumor", "supposedly", "allegedly",
];

/// Words of a change, made or planned.
#[rustfmt::skip]
pub(super) const CHANGES: &[&str] = &[
    "previously", "formerly", "former", "until", "replaced", "replaces", "replacing", "supersede", "supersedes", "superseded",
    "originally", "initially", "earlier", "old", "planned", "proposed", "draft", "expected", "raised", "lowered", "changed",
    "longer", "extended", "postponed", "moved", "renamed", "reduced", "cut", "since", "current", "currently", "revised", "updated",
    "instead", "retired", "deprecated", "withdrawn", "lapsed", "outdated", "obsolete", "intended", "budgeted", "estimated",
    "before",
];

/// Words of a sentence about the past.
#[rustfmt::skip]
pub(super) const PAST: &[&str] = &[
    "was", "were", "had", "did", "then", "ago", "wasn't", "weren't", "didn't", "hadn't", "became", "began", "bought", "bred", "built",
    "came", "drew", "fell", "found", "gave", "got", "grew", "held", "kept", "led", "left", "lost", "made", "met", "paid", "ran", "rose",
    "sang", "saw", "sold", "spent", "stood", "took", "taught", "went", "won", "wrote",
];

/// Words of a sentence about the present or the future. They outweigh [`PAST`].
#[rustfmt::skip]
pub(super) const PRESENT: &[&str] = &[
    "is", "are", "has", "have", "can", "cannot", "may", "must", "will", "shall", "should", "does", "do", "isn't", "aren't", "can't",
    "doesn't", "don't", "won't", "now", "today",
];

/// Common verbs; the words before them name the subject.
#[rustfmt::skip]
pub(super) const VERBS: &[&str] = &[
    "is", "are", "was", "were", "has", "have", "had", "can", "could", "may", "might", "must", "will", "would", "shall", "should",
    "does", "do", "did", "cannot", "isn't", "aren't", "wasn't", "weren't", "doesn't", "don't", "didn't", "can't", "won't", "hasn't",
    "haven't", "hadn't",
];
