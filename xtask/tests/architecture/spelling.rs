//! Spellings that one function of ours replaced: they come back nowhere else.

use super::sources;

/// Texts without blanks, brackets of types and paths of `std`, the file that may hold each (none: empty), and the words to write in their place.
const REPLACED: &[(&str, &str, &str)] = &[
    (
        "PoisonError",
        "host/lanes/src/poison.rs",
        "`.ignore_poison()` (`qm_lanes::IgnorePoison`)",
    ),
    ("as&dynError", "", "`as_error(&error)` (`qm_kernel::as_error`)"),
];

/// Spellings of a source that stand elsewhere, each with its line.
fn replaced_spellings(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        let dense: String = code.split_whitespace().collect();
        let dense = dense.replace("std::error::", "").replace("&(dyn", "&dyn");
        let refused = REPLACED
            .iter()
            .find(|(spelling, place, _)| *place != path && dense.contains(spelling));
        if let Some((spelling, _, instead)) = refused {
            found.push(format!("{path}:{}: `{spelling}`; write {instead}", number + 1));
        }
    }
    found
}

#[test]
fn what_one_function_does_is_spelt_nowhere_else() {
    // This file names the spellings.
    let wrong: Vec<_> = sources()
        .iter()
        .filter(|(path, _)| path != "xtask/tests/architecture/spelling.rs")
        .flat_map(|(path, text)| replaced_spellings(path, text))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_old_spelling_is_found_with_its_line() {
    for old in [
        "lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner)",
        "error = &error as &dyn std::error::Error,",
        "let error = error as &dyn Error;",
        "let cause = &error as &(dyn std::error::Error + 'static);",
    ] {
        let found = replaced_spellings("host/a/src/lib.rs", &format!("\n{old}\n"));
        assert!(
            found.len() == 1 && found[0].starts_with("host/a/src/lib.rs:2:"),
            "{found:?}"
        );
    }
    let new = "tracing::warn!(error = as_error(&error), count = *count.lock().ignore_poison());";
    assert_eq!(replaced_spellings("host/a/src/lib.rs", new), Vec::<String>::new());
}
