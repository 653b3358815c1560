//! Tokenizers and chat templates, against ids that Hugging Face's made (`golden/tokenizer/make.py`, `families.py`).

mod content;
mod families;
mod fixture;
mod fuzz;
mod fuzz_entry;
mod golden;
mod growth;
mod hostile;
mod llama_cpp;
mod model_files;
mod normalized;
mod sentencepiece;
mod templates;
