//! The default model at a terminal: the user is asked once, and the choice is stored.

use crate::cli::args::model::ModelArgs;
use crate::cli::terminal::tell;
use crate::files::outputs::write_new;
use crate::memory::Memory;
use crate::units::readable;
use crate::workspace::DEFAULT_MODEL;
use crate::workspace::models::{AUTO, Offer, best};
use moot_models::source::{Catalog, default_cache, offline_by_environment, reach_hub};
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The model of a command whose output a user reads. With `asks`, the user may be asked, at a terminal and with a network.
pub(super) fn model(args: &ModelArgs, asks: bool) -> String {
    Surroundings {
        file: default_cache().map(|cache| cache.join("told/model")).ok(),
        offline: args.runtime.offline || offline_by_environment().is_some(),
        // Standard output too: at the other end of a pipe another program waits for the result.
        terminal: io::stdin().is_terminal() && io::stderr().is_terminal() && io::stdout().is_terminal(),
        offer: &|offline| best(Memory::here(), offline),
        reaches_hub: &|| reach_hub().outcome.is_ok(),
        ask: &|offer| ask(offer, &mut io::stdin().lock(), &mut io::stderr()).ok().flatten(),
    }
    .choose(args.model.as_deref(), asks)
}

/// What the choice depends on besides the arguments.
struct Surroundings<'a> {
    /// The file of the choice; `None` without a cache folder.
    file: Option<PathBuf>,
    /// Whether the network may not be used.
    offline: bool,
    /// Whether a user can read the question and type.
    terminal: bool,
    /// The model to offer; without a network, of those on this machine.
    offer: &'a dyn Fn(bool) -> Option<Offer>,
    /// Whether a model can be fetched now.
    reaches_hub: &'a dyn Fn() -> bool,
    /// Asks the user; `None` where nothing was chosen.
    ask: &'a dyn Fn(&Offer) -> Option<&'static str>,
}

impl Surroundings<'_> {
    /// The model `named`; else the choice in the file; else, with `asks`, the user's choice where one can be made; else the
    /// default.
    fn choose(&self, named: Option<&str>, asks: bool) -> String {
        if let Some(name) = named {
            if name == AUTO
                && let (Some(file), Some(offer)) = (&self.file, (self.offer)(self.offline))
            {
                remember(file, offer.name);
            }
            return name.to_owned();
        }
        if let Some(name) = self.file.as_deref().and_then(remembered) {
            if name != DEFAULT_MODEL {
                tell(&format!("model {name}, as chosen before; --model takes another"));
            }
            return name;
        }
        if asks
            && self.terminal
            && !self.offline
            && let (Some(file), Some(offer)) = (&self.file, (self.offer)(false))
            && (offer.here || (self.reaches_hub)())
            && let Some(name) = (self.ask)(&offer)
        {
            remember(file, name);
            return name.to_owned();
        }
        DEFAULT_MODEL.to_owned()
    }
}

/// The choice; `None` where nothing was chosen.
fn ask(offer: &Offer, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<Option<&'static str>> {
    /// Replies other than a choice.
    const PATIENCE: usize = 3;
    let Offer { name, licence, bytes, here, slower } = offer;
    let size = if *here {
        format!("on this machine, about {}", readable(*bytes))
    } else {
        format!("to be fetched, about {}, about {} min at 100 Mbit/s", readable(*bytes), minutes(*bytes))
    };
    writeln!(
        output,
        "No model is named (--model). Which one shall read the documents? This is asked once.\n  1  {DEFAULT_MODEL}: small, \
         made for tests; it does not judge reliably\n  2  {name}: {size}; {licence}; about {slower:.0} times as slow"
    )?;
    for _ in 0..PATIENCE {
        write!(output, "1 or 2 [1]: ")?;
        output.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim() {
            "" | "1" => return Ok(Some(DEFAULT_MODEL)),
            "2" => return Ok(Some(name)),
            _ => {}
        }
    }
    Ok(None)
}

/// Minutes in which `bytes` are fetched at 100 Mbit/s, rounded up.
fn minutes(bytes: u64) -> u64 {
    const A_MINUTE: u64 = 60 * 100_000_000 / 8;
    bytes.div_ceil(A_MINUTE)
}

/// The name in `file`, if it is one of the catalog.
fn remembered(file: &Path) -> Option<String> {
    let name = std::fs::read_to_string(file).ok()?;
    let name = name.trim();
    Catalog::embedded().models.iter().any(|entry| entry.alias == name).then(|| name.to_owned())
}

/// Stores the choice. If it cannot be written, the user is asked again the next time.
fn remember(file: &PathBuf, name: &str) {
    let folder = file.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok());
    if folder && remembered(file).as_deref() != Some(name) {
        // `write_new` refuses a file that is there.
        let _ = std::fs::remove_file(file);
        let _ = write_new(file, format!("{name}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn offer() -> Offer {
        Offer { name: "qwen3-4b", licence: "Apache-2.0".into(), bytes: 2_500_000_000, here: false, slower: 2.3 }
    }

    fn asked(typed: &str) -> (Option<&'static str>, String) {
        let mut shown = Vec::new();
        let chosen = ask(&offer(), &mut typed.as_bytes(), &mut shown).unwrap();
        (chosen, String::from_utf8(shown).unwrap())
    }

    #[test]
    fn a_person_is_asked_with_size_time_and_licence() {
        let (chosen, shown) = asked("2\n");
        assert_eq!(chosen, Some("qwen3-4b"));
        let line = "  2  qwen3-4b: to be fetched, about 2.5 GB, about 4 min at 100 Mbit/s; Apache-2.0; about 2 times as slow\n";
        assert!(shown.contains(line) && shown.contains(DEFAULT_MODEL), "{shown}");
        let mut shown = Vec::new();
        ask(&Offer { here: true, ..offer() }, &mut "1\n".as_bytes(), &mut shown).unwrap();
        let shown = String::from_utf8(shown).unwrap();
        assert!(
            shown.contains("qwen3-4b: on this machine, about 2.5 GB; Apache-2.0") && !shown.contains("Mbit"),
            "{shown}"
        );
        assert_eq!((asked("\n").0, asked("1\n").0), (Some(DEFAULT_MODEL), Some(DEFAULT_MODEL)));
        assert_eq!((asked("").0, asked("what\nno\nyes\n2\n").0), (None, None));
        assert_eq!(asked("what\n2\n").0, Some("qwen3-4b"));
    }

    #[test]
    fn a_begun_minute_counts() {
        let cases = [1, 750_000_000, 750_000_001, 5_030_000_000];
        assert_eq!(cases.map(minutes), [1, 1, 2, 7]);
    }

    #[test]
    fn a_choice_is_remembered_and_only_a_name_of_the_catalog_is_believed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("told/model");
        assert_eq!(remembered(&file), None);
        for name in ["qwen3-4b", DEFAULT_MODEL] {
            remember(&file, name);
            assert_eq!(remembered(&file).as_deref(), Some(name));
        }
        std::fs::write(&file, "/etc/passwd\n").unwrap();
        assert_eq!(remembered(&file), None);
    }

    /// The choice of a user who accepts the offer, and the number of questions. The flags: `asks`, a terminal, `--offline`, a
    /// hub in reach.
    fn chosen(file: &Path, flags: [bool; 4], named: Option<&str>) -> (String, usize) {
        chosen_of(file, flags, named, false)
    }

    /// As [`chosen`]; with `here` the offered model is on this machine.
    fn chosen_of(file: &Path, flags: [bool; 4], named: Option<&str>, here: bool) -> (String, usize) {
        let ([asks, terminal, offline, hub], asked) = (flags, Cell::new(0));
        let surroundings = Surroundings {
            file: Some(file.to_owned()),
            offline,
            terminal,
            offer: &|offline| (!offline).then(|| Offer { here, ..offer() }),
            reaches_hub: &|| hub,
            ask: &|offer| {
                asked.set(asked.get() + 1);
                Some(offer.name)
            },
        };
        (surroundings.choose(named, asks), asked.get())
    }

    const AT_A_TERMINAL: [bool; 4] = [true, true, false, true];

    #[test]
    fn nothing_is_asked_for_json_in_a_pipe_offline_or_without_a_hub() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("told/model");
        for index in 0..4 {
            let mut surroundings = AT_A_TERMINAL;
            surroundings[index] = !surroundings[index];
            assert_eq!(chosen(&file, surroundings, None), (DEFAULT_MODEL.to_owned(), 0), "{index}");
            assert!(!file.exists(), "{index}");
        }
        // A model that is here needs no hub.
        let beside = folder.path().join("beside/model");
        assert_eq!(chosen_of(&beside, [true, true, false, false], None, true), ("qwen3-4b".to_owned(), 1));
        assert_eq!(chosen(&file, AT_A_TERMINAL, None), ("qwen3-4b".to_owned(), 1));
        for surroundings in [AT_A_TERMINAL, [false, false, true, false]] {
            assert_eq!(chosen(&file, surroundings, None), ("qwen3-4b".to_owned(), 0), "this is asked once");
        }
    }

    #[test]
    fn the_answer_of_auto_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("told/model");
        // No model is offered offline here, and a named one is no choice.
        assert_eq!(chosen(&file, [true, false, true, false], Some(AUTO)), (AUTO.to_owned(), 0));
        assert_eq!(chosen(&file, AT_A_TERMINAL, Some("smollm2-135m")), ("smollm2-135m".to_owned(), 0));
        assert_eq!(remembered(&file), None);
        assert_eq!(chosen(&file, [true, false, false, false], Some(AUTO)), (AUTO.to_owned(), 0));
        assert_eq!(remembered(&file).as_deref(), Some("qwen3-4b"));
        assert_eq!(chosen(&file, AT_A_TERMINAL, Some("smollm2-135m")), ("smollm2-135m".to_owned(), 0));
        assert_eq!(chosen(&file, AT_A_TERMINAL, None), ("qwen3-4b".to_owned(), 0));
    }
}
