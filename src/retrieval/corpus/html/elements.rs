//! Elements by what they mean for the text.

/// Elements that begin and end a line.
#[rustfmt::skip]
pub(super) const BLOCKS: &[&str] = &[
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header",
    "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "option", "p", "pre", "section", "summary", "table",
    "tbody", "tfoot", "thead", "title", "tr", "ul",
];

/// Elements that no browser shows, or that are no text.
pub(super) const LEFT_OUT: &[&str] = &["annotation", "annotation-xml", "noscript", "select", "svg"];

/// Elements whose content was taken back.
pub(super) const DELETED: &[&str] = &["del", "s", "strike"];

/// Elements whose content is kept where no end tag follows: those of [`LEFT_OUT`] and [`DELETED`], and parts beside the content.
pub(super) const OPTIONAL: &[&str] = &[
    "annotation",
    "annotation-xml",
    "aside",
    "del",
    "footer",
    "header",
    "nav",
    "noscript",
    "s",
    "select",
    "strike",
    "svg",
];

/// Elements whose content is never rendered, closed or not.
pub(super) const UNSEEN: &[&str] =
    &["audio", "canvas", "datalist", "iframe", "noembed", "noframes", "script", "style", "template", "video"];
