//! Tokenizers and chat templates, against ids that Hugging Face's made (`golden/tokenizer/make.py`).

mod content;
mod fixture;
mod golden;
mod hostile;
mod model_files;
mod templates;
