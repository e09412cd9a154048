//! XML of indexers: the options of the reader.

use qm_loose_xml::{Fault, LongValue, Oddity, Options, References, TooDeep, Walk};

/// The most levels of elements.
const MAX_DEPTH: usize = 64;
/// The most bytes of one text that are kept.
const MAX_TEXT: usize = 8 << 10;

/// Answers of indexers are read as far as their bounds.
const OPTIONS: Options = Options {
    max_depth: MAX_DEPTH,
    too_deep: TooDeep::End,
    max_attributes: 64,
    max_value: MAX_TEXT,
    long_value: LongValue::Cut,
    max_text: MAX_TEXT,
    void_elements: &[],
    sibling_elements: &[],
    references: References::PLAIN,
    warning: |oddity| Some(warning(oddity)),
};

fn warning(oddity: &Oddity) -> String {
    match oddity {
        Oddity::LeftOpen => "leaves elements open".to_owned(),
        Oddity::NotOpened => "closes elements that were not opened".to_owned(),
        Oddity::UnknownEntity => "uses entities that are not known".to_owned(),
        Oddity::DeclaredEntities => "declares entities, which are not read".to_owned(),
        Oddity::TooDeep(levels) => format!("is nested deeper than {levels} levels and was not read further"),
        Oddity::Broken(broken) => match &broken.fault {
            Fault::EndsInElement => "ends in the middle".to_owned(),
            Fault::EndsInMarkup(words) | Fault::Unreadable(words) => {
                let words: String = words.chars().take(200).collect();
                format!("cannot be read beyond byte {}: {words}", broken.begins)
            }
        },
    }
}

pub fn walk(text: &str) -> Walk<'_> {
    Walk::new(text, OPTIONS)
}

/// Text with its character references resolved; unknown ones stay.
pub fn unescape(text: &str) -> String {
    References::PLAIN.resolve(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(text: &str) -> Vec<String> {
        let mut walk = walk(text);
        while walk.next_node().is_some() {}
        walk.warnings()
    }

    #[test]
    fn what_is_odd_is_said_of_the_answer() {
        let deep = "<a>".repeat(100_000);
        for (text, warning) in [
            ("<a><b><c>x</b>y</a>", "leaves elements open"),
            ("<a></b>x</a>", "closes elements that were not opened"),
            ("<a>&y;</a>", "uses entities that are not known"),
            (
                "<!DOCTYPE a [<!ENTITY x 'y'>]><a/>",
                "declares entities, which are not read",
            ),
            ("<a><b>x", "ends in the middle"),
            (&deep, "is nested deeper than 64 levels and was not read further"),
        ] {
            assert_eq!(warnings(text), [warning], "{text:.100}");
        }
        let broken = warnings("<a><b>x</b><c attr=\"");
        assert!(
            broken[0].starts_with("cannot be read beyond byte 11: "),
            "{broken:?}"
        );
        assert_eq!(broken.len(), 1, "{broken:?}");
    }
}
