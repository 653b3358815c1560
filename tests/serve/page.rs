//! The page: its files, its policy, and that it names no other origin.

use super::Started;

#[test]
fn the_page_loads_its_own_files_alone() {
    let server = Started::new();
    let page = server.get("/");
    assert_eq!(page.status, 200);
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    let mut waiting: Vec<String> = named(&page.body);
    let mut loaded = Vec::new();
    while let Some(path) = waiting.pop() {
        if loaded.contains(&path) {
            continue;
        }
        let file = server.get(&path);
        assert_eq!(file.status, 200, "{path}");
        assert!(!file.body.contains("innerHTML") && !file.body.contains("http://") && !file.body.contains("https://"));
        waiting.extend(named(&file.body));
        loaded.push(path);
    }
    loaded.sort_unstable();
    let files = [
        "app.js",
        "claims.js",
        "contradictions.js",
        "debate.js",
        "documents.js",
        "dom.js",
        "files.js",
        "history.js",
        "methods.js",
        "models.js",
        "output.js",
        "server.js",
        "style.css",
    ];
    assert_eq!(loaded, files.map(|name| format!("/page/{name}")));
    assert_eq!(server.get("/page/nothing").status, 404);
}

/// Paths of the page's files in a text.
fn named(text: &str) -> Vec<String> {
    let path = |part: &str| part.split('"').next().map(|name| format!("/page/{name}"));
    text.split("\"/page/").skip(1).filter_map(path).collect()
}
