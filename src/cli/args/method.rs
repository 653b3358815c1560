//! Arguments of the method and its settings.

use crate::cli::args::switches::Switches;
use crate::cli::args::values;
use crate::error::Result;
use crate::protocol::ctx::Settings;
use crate::workspace::MethodOptions;
use std::path::PathBuf;

/// The arguments as typed.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Method")]
pub struct MethodArgs {
    /// Method that answers each question (`moot methods` lists them) [default: moot; of a run madam-rag]. `moot run` takes
    /// several, a,b
    #[arg(long, value_name = "NAME")]
    pub method: Option<String>,
    /// A named setting of the method's switches (`moot methods` lists them); alone, a name that one method has. `moot run`
    /// takes several, a,b
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Its switches.
    #[command(flatten)]
    pub switches: Switches,
    /// A folder of your own prompts, named as by `moot prompts list`
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<PathBuf>,
    /// Weights of sources, as `moot sources estimate` wrote them
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub source_weights: Option<PathBuf>,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = Settings::default().seed, value_parser = values::whole::<u64>, hide_short_help = true)]
    #[arg(allow_negative_numbers = true)]
    pub seed: u64,
    /// Maximum tokens of a reply [default: the method's: 128, 256 (drag, mad, naive-rag) or 512 (conflict-report, regenerated-rag)]
    #[arg(long, value_name = "N", value_parser = values::count, hide_short_help = true)]
    #[arg(allow_negative_numbers = true)]
    pub max_tokens: Option<usize>,
    /// Do not constrain replies to their format by a grammar
    #[arg(long, hide_short_help = true)]
    pub free_form: bool,
    /// Maximum tokens of thought before each reply, for models that can think; 0 turns thinking off
    #[arg(long, value_name = "N", default_value_t = Settings::default().think, value_parser = values::count_or_none, hide_short_help = true)]
    #[arg(allow_negative_numbers = true)]
    pub think: usize,
    /// Sample at this temperature instead of taking the likeliest token
    #[arg(long, value_name = "T", value_parser = values::number::<f32>, allow_negative_numbers = true, hide_short_help = true)]
    pub temperature: Option<f32>,
    /// With --temperature: keep only the K likeliest tokens
    #[arg(
        long,
        value_name = "K",
        requires = "temperature",
        default_value_t = 0,
        hide_default_value = true,
        hide_short_help = true
    )]
    #[arg(value_parser = values::whole::<usize>, allow_negative_numbers = true)]
    pub top_k: usize,
    /// With --temperature: keep the likeliest tokens that together reach probability P
    #[arg(
        long,
        value_name = "P",
        requires = "temperature",
        default_value_t = 1.0,
        hide_default_value = true,
        hide_short_help = true
    )]
    #[arg(value_parser = values::number::<f32>, allow_negative_numbers = true)]
    pub top_p: f32,
}

impl MethodArgs {
    /// As the plan takes them.
    ///
    /// # Errors
    /// A switch given twice, or not as NAME=VALUE.
    pub fn options(&self) -> Result<MethodOptions> {
        Ok(MethodOptions {
            name: self.method.clone(),
            preset: self.preset.clone(),
            switches: self.switches.typed()?,
            prompts: self.prompts.clone(),
            source_weights: self.source_weights.clone(),
            seed: self.seed,
            max_tokens: self.max_tokens,
            free_form: self.free_form,
            think: self.think,
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
        })
    }
}
