//! Mail and notebooks.

use super::one;

#[test]
fn a_message_is_its_text_with_subject_sender_and_date() {
    let mail = "From: =?utf-8?q?Ren=C3=A9_Sand?= <rene@mill.example>\r\nTo: ivor@example.org\r\nSubject: The mill of\r\n =?iso-8859-1?Q?Orl=E9ans?=\r\n\
        Date: Fri, 31 May 2024 23:30:00 -0500\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"b1\"\r\n\r\nPREAMBLE\r\n--b1\r\n\
        Content-Type: multipart/alternative; boundary=b2\r\n\r\n--b2\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>PAGE</p>\r\n--b2\r\n\
        Content-Type: text/plain; charset=windows-1251\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=CC=EE=F1=F2 was built=\r\n in 1788.\r\n--b2--\r\n--b1\r\n\
        Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\nPHA+SXQgYnVybmVkIGluIDE4MDEuPC9wPjxzY3JpcHQ+eDwvc2NyaXB0Pg==\r\n--b1\r\n\
        Content-Type: application/pdf; name=\"deed.pdf\"\r\nContent-Disposition: attachment; filename=\"deed.pdf\"\r\n\r\nPDF\r\n--b1\r\n\
        Content-Type: text/plain\r\nContent-Disposition: attachment; filename=\"a.txt\"\r\n\r\nATTACHED\r\n--b1\r\nContent-Type: application/pgp-signature\r\n\r\nSIG\r\n--b1--\r\n";
    let documents = one("a.eml", mail.as_bytes()).unwrap();
    let read = &documents[0];
    assert_eq!(read.text, "\u{41c}\u{43e}\u{441}\u{442} was built in 1788.\n\nIt burned in 1801.");
    assert_eq!(read.title.as_deref(), Some("The mill of Orl\u{e9}ans"));
    assert_eq!(
        (read.source.as_deref(), read.date.as_deref()),
        (Some("Ren\u{e9} Sand <rene@mill.example>"), Some("2024-05-31"))
    );
    assert_eq!(read.notes, ["attachment deed.pdf is not read", "attachment a.txt is not read"]);
}

#[test]
fn a_page_is_read_where_there_is_no_text() {
    let mail = "From: a@b.example\nContent-Type: multipart/alternative; boundary=x\n\n--x\nContent-Type: text/plain\n\n \n--x\nContent-Type: text/html\n\n\
        <p>It cost 10 crowns.</p><p hidden>HIDDEN</p>\n--x--\n";
    assert_eq!(one("a.eml", mail.as_bytes()).unwrap()[0].text, "It cost 10 crowns.");
    assert_eq!(one("a.eml", b"Subject: x\n\nPlain\n").unwrap()[0].text, "Plain");
    let said = one("a.eml", b"The mill burned.\n\nIn 1801.\n").unwrap_err();
    assert_eq!(said, "a.eml: expected a mail message (.eml), found a text without the headers of one");
    let locked = b"From: a\nContent-Type: multipart/encrypted; boundary=x\n\n--x\nContent-Type: application/octet-stream\n\nX\n--x--\n";
    assert_eq!(one("a.eml", locked).unwrap_err(), "a.eml: expected text, found an encrypted message");
}

#[test]
fn a_set_that_is_not_declared_is_detected() {
    // "Мост через Ладу открыт в 1904 году." in windows-1251.
    let cyrillic: &[u8] =
        b"\xcc\xee\xf1\xf2 \xf7\xe5\xf0\xe5\xe7 \xcb\xe0\xe4\xf3 \xee\xf2\xea\xf0\xfb\xf2 \xe2 1904 \xe3\xee\xe4\xf3.";
    let expected = "\u{41c}\u{43e}\u{441}\u{442} \u{447}\u{435}\u{440}\u{435}\u{437} \u{41b}\u{430}\u{434}\u{443} \u{43e}\u{442}\u{43a}\u{440}\u{44b}\u{442} \u{432} 1904 \u{433}\u{43e}\u{434}\u{443}.";
    for declared in ["", "Content-Type: text/plain; charset=us-ascii\n"] {
        let mail = [b"Subject: ", cyrillic, b"\n", declared.as_bytes(), b"\n", cyrillic, b"\n"].concat();
        let read = &one("a.eml", &mail).unwrap()[0];
        assert_eq!((read.text.as_str(), read.title.as_deref()), (expected, Some(expected)), "{declared}");
        assert_eq!(read.notes, ["read as windows-1251: the character set was detected, the file declares none"]);
    }
    let page = [b"Subject: x\nContent-Type: text/html\n\n<meta charset=windows-1251><p>" as &[u8], cyrillic].concat();
    assert_eq!(one("a.eml", &page).unwrap()[0].text, expected);
    let utf8 = format!("Subject: x\n\n{expected}\n");
    assert_eq!(one("a.eml", utf8.as_bytes()).unwrap()[0].text, expected);
}

#[test]
fn wrapped_paragraphs_are_put_together() {
    let mail = "From: a\nContent-Type: text/plain; format=flowed; delsp=yes\n\nThe bridge of the to \nwn opened  \nin 1931.\n Next: \n\n\
        >> It cost \n>>  40 crowns.\n> Said \nhe.\n-- \nAnn\n";
    assert_eq!(
        one("a.eml", mail.as_bytes()).unwrap()[0].text,
        "The bridge of the town opened in 1931.\nNext:\n>> It cost 40 crowns.\n> Said\nhe.\n-- \nAnn"
    );
    let kept = mail.replace("; format=flowed; delsp=yes", "");
    assert!(one("a.eml", kept.as_bytes()).unwrap()[0].text.starts_with("The bridge of the to \nwn opened  \n"));
}

#[test]
fn cells_of_notebooks_are_text_code_and_outputs() {
    let notebook = r##"{"nbformat": 4, "metadata": {"language_info": {"name": "python"}, "other": [1, {"a": []}]}, "cells": [
        {"cell_type": "markdown", "source": ["# The mill\n", "It burned in 1801."]},
        {"cell_type": "code", "source": "print(1788 + 2)", "execution_count": 1, "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["\u001b[31m1790\u001b[0m\n"]},
            {"output_type": "execute_result", "data": {"text/html": "<b>PAGE</b>", "text/plain": "'x'"}},
            {"output_type": "display_data", "data": {"text/html": ["<p>only a page</p>"]}},
            {"output_type": "display_data", "data": {"image/png": "AAAA"}},
            {"output_type": "display_data", "data": {"text/latex": ["$1931$"]}},
            {"output_type": "display_data", "data": {"application/json": {"a": 1}}},
            {"output_type": "error", "ename": "KeyError", "evalue": "'mill'", "traceback": ["TRACE"]}]},
        {"cell_type": "code", "source": [], "outputs": []}, {"cell_type": "raw", "source": "Raw"}]}"##;
    let documents = one("a.ipynb", notebook.as_bytes()).unwrap();
    assert_eq!(
        documents[0].text,
        "# The mill\nIt burned in 1801.\n\n```python\nprint(1788 + 2)\n```\n\n1790\n\n'x'\n\nonly a page\n\n$1931$\n\nKeyError: 'mill'\n\nRaw"
    );
    assert_eq!(documents[0].title.as_deref(), Some("The mill"));
    assert_eq!(
        documents[0].notes,
        ["pictures among the outputs are not read: 1", "outputs that are no text are not read: 1"]
    );
    let old =
        r#"{"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": "x", "language": "python"}]}]}"#;
    assert_eq!(one("a.ipynb", old.as_bytes()).unwrap()[0].text, "```\nx\n```");
    let said = one("a.ipynb", b"[1]").unwrap_err();
    assert!(said.starts_with("a.ipynb: expected a Jupyter notebook (.ipynb), found "), "{said}");
}

/// A message that another one forwards is read with who wrote it, as deep as a limit.
#[test]
fn forwarded_messages_are_read_with_their_senders() {
    let inner =
        "From: Odo <o@x>\r\nDate: Mon, 2 Mar 2019 10:00:00 +0000\r\nSubject: Toll\r\n\r\nThe toll ended in 1944.\r\n";
    let forward = |inner: &str, text: &str| {
        format!(
            "From: Anna <a@x>\r\nSubject: Fwd\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b{depth}\r\n\r\n\
             --b{depth}\r\nContent-Type: text/plain\r\n\r\n{text}\r\n--b{depth}\r\nContent-Type: message/rfc822\r\n\r\n{inner}\r\n--b{depth}--\r\n",
            depth = inner.len()
        )
    };
    let documents = one("a.eml", forward(inner, "See below.").as_bytes()).unwrap();
    assert_eq!(
        documents[0].text,
        "See below.\n\nForwarded message\nFrom: Odo <o@x>\nDate: Mon, 2 Mar 2019 10:00:00 +0000\nSubject: Toll\n\nThe toll ended in 1944."
    );
    let deep = (0..5).fold(inner.to_owned(), |inner, depth| forward(&inner, &format!("Level {depth}.")));
    let document = &one("a.eml", deep.as_bytes()).unwrap()[0];
    assert!(document.text.contains("Level 0.") && !document.text.contains("1944"), "{}", document.text);
    assert_eq!(document.notes, ["attachment of type message/rfc822 is not read"]);
}
