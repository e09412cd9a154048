//! Simple filter of a rule without candidates, and patterns made from texts.

use qm_conditions::pattern::Pattern;

use crate::candidate::{Candidate, MatchType};

/// Two regular expressions, case-insensitive and unanchored: one that must match, and one that must not.
#[derive(Clone, Debug)]
pub struct Filter {
    /// `None` matches nothing: both expressions are missing, or one is invalid.
    judged: Option<(Option<Pattern>, Option<Pattern>)>,
}

impl Filter {
    /// A blank expression is ignored; with neither, or with an invalid one, no name matches.
    pub fn compile(include: Option<&str>, exclude: Option<&str>) -> Self {
        let (include, exclude) = (non_blank(include), non_blank(exclude));
        let compiled = |source: Option<&str>| source.map(Pattern::compile).transpose().ok();
        let judged = (include.is_some() || exclude.is_some())
            .then(|| Some((compiled(include)?, compiled(exclude)?)))
            .flatten();
        Self { judged }
    }

    pub fn matches(&self, title: &str) -> bool {
        self.judged.as_ref().is_some_and(|(include, exclude)| {
            include.as_ref().is_none_or(|pattern| pattern.is_in(title))
                && !exclude.as_ref().is_some_and(|pattern| pattern.is_in(title))
        })
    }
}

fn non_blank(source: Option<&str>) -> Option<&str> {
    source.filter(|source| !source.trim().is_empty())
}

impl Candidate {
    /// The simple filter as a candidate, so that its decisions can be explained like others. `None` without
    /// expressions. An invalid exclusion excludes nothing here; [`Filter`] decides about grabs.
    pub fn of_filter(include: Option<&str>, exclude: Option<&str>) -> Option<Self> {
        let (include, exclude) = (non_blank(include), non_blank(exclude));
        (include.is_some() || exclude.is_some()).then(|| Self {
            id: "legacy".to_owned(),
            priority_order: 1,
            name: "Simple filter".to_owned(),
            description: None,
            enabled: true,
            match_type: MatchType::Regex,
            pattern: Some(include.unwrap_or(".*").to_owned()),
            required_terms: Vec::new(),
            excluded_terms: Vec::new(),
            quality_rules: Default::default(),
            size_rules: Default::default(),
            feed_scope: Default::default(),
            exclude_regex: exclude.map(str::to_owned),
        })
    }
}

/// A regular expression that matches a text with any separators: `Harbor Nine` becomes `Harbor[\s._-]+Nine`.
/// Special characters are escaped; surrounding white space is dropped.
pub fn convert_to_regex(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(escape).collect();
    words.join(r"[\s._-]+")
}

/// An expression that matches exactly this text.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if r".*+?^${}()|[]\".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters() {
        for (include, exclude, title, expected) in [
            (None, None, "Harbor.Nine", false),
            (Some(""), Some(" "), "Harbor.Nine", false),
            (Some("harbor"), None, "Harbor.Nine", true),
            (Some("^nine"), None, "Harbor.Nine", false),
            (Some("harbor"), Some("NINE$"), "Harbor.Nine", false),
            (None, Some("cam"), "Harbor.Nine", true),
            (None, Some("nine"), "Harbor.Nine", false),
            (Some("("), None, "(", false),
            (Some("harbor"), Some("("), "Harbor.Nine", false),
            (Some("(?=harbor)"), None, "Harbor.Nine", false),
        ] {
            let filter = Filter::compile(include, exclude);
            assert_eq!(filter.matches(title), expected, "{include:?} {exclude:?}");
        }
    }

    #[test]
    fn texts_become_patterns() {
        for (text, pattern) in [
            ("  Harbor  Nine ", r"Harbor[\s._-]+Nine"),
            ("A.B.'s (2021) [x]", r"A\.B\.'s[\s._-]+\(2021\)[\s._-]+\[x\]"),
            ("", ""),
        ] {
            assert_eq!(convert_to_regex(text), pattern);
        }
        let pattern = Pattern::compile(&convert_to_regex("What? (1+1) Nine")).expect("a pattern");
        assert!(pattern.is_in("x.what?.(1+1)_-_nine.1080p"));
        assert!(!pattern.is_in("wha (1+1) nine"));
    }
}
