//! An assessment in every form.

use crate::assess::{Assessment, Neither, html, markdown};
use crate::cli::args::form::Form;
use crate::cli::claims;
use crate::cli::terminal::columns::printable;
use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::eval::record::Header;
use crate::methods::conflict_score::ROW;
use crate::protocol::labelling::settings;
use crate::transcript::QuestionRecord;
use clap::ValueEnum;

/// How claims with neither supporters nor contradictors count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Counted {
    /// Left out of the mean
    LeftOut,
    /// As a ratio of 0
    Zero,
}

impl From<Counted> for Neither {
    fn from(counted: Counted) -> Self {
        match counted {
            Counted::LeftOut => Self::LeftOut,
            Counted::Zero => Self::Zero,
        }
    }
}

/// Prints the assessment, with the model of the labeller by `header`, as far as it labelled.
pub(super) fn print(form: Form, neither: Counted, record: &QuestionRecord, header: &Header) -> Result<Assessment> {
    let mut assessment = Assessment::of(record, neither.into())
        .ok_or_else(|| MootError::Usage(format!("{} concluded no claims (bug)", ROW.name)))?;
    if assessment.labelled_by.iter().any(|(by, _)| by == settings::ROLE) {
        assessment.model = printable(&header.model_of(settings::ROLE).name);
    }
    let text = match form {
        Form::Text => claims::page(&assessment, record, output::columns()),
        Form::Markdown => markdown::page(&assessment),
        // A page keeps marks of writing direction, which a browser needs.
        Form::Html => {
            let _ = output::write(html::page(&assessment).as_bytes())?;
            return Ok(assessment);
        }
        Form::Json => output::pretty_json(&assessment)?,
    };
    output::print(&text)?;
    Ok(assessment)
}
