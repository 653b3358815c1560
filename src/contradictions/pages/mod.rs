//! A report as a page.

pub mod html;
pub mod markdown;
