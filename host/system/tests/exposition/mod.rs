//! Strict parser of the Prometheus text format, version 0.0.4.

use std::collections::{BTreeMap, BTreeSet};

/// Samples by name and labels as they stand in the text.
#[derive(Debug, Default)]
pub struct Exposition {
    pub samples: BTreeMap<String, f64>,
    pub types: BTreeMap<String, String>,
}

impl Exposition {
    pub fn value(&self, series: &str) -> f64 {
        let value = self.samples.get(series).copied();
        value.unwrap_or_else(|| panic!("no {series} in {:#?}", self.samples.keys()))
    }
}

/// Parses the whole text, or panics with the faulty line.
pub fn read(text: &str) -> Exposition {
    assert!(text.ends_with('\n'), "the last line ends like every other");
    let mut read = Exposition::default();
    let mut helped = BTreeSet::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap_or_else(|| panic!("no help: {line}"));
            assert!(is_name(name) && !help.is_empty(), "{line}");
            assert!(helped.insert(name.to_owned()), "a family comes once: {line}");
            name.clone_into(&mut current);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap_or_else(|| panic!("no type: {line}"));
            assert_eq!(name, current, "the type follows the help: {line}");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(kind != "counter" || name.ends_with("_total"), "{line}");
            read.types.insert(name.to_owned(), kind.to_owned());
        } else {
            let (series, value) = line
                .rsplit_once(' ')
                .unwrap_or_else(|| panic!("no value: {line}"));
            let name = series.split('{').next().unwrap();
            let family =
                family(&read, &current, name).unwrap_or_else(|| panic!("{line} is not of {current}"));
            assert!(is_name(name) && labels_are_sound(&series[name.len()..]), "{line}");
            let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
            assert!(family != "counter" || value >= 0.0, "{line}");
            assert!(
                read.samples.insert(series.to_owned(), value).is_none(),
                "twice: {line}"
            );
        }
    }
    read
}

/// Type of the family of `name`, which must be the one begun last.
fn family<'a>(read: &'a Exposition, current: &str, name: &str) -> Option<&'a str> {
    let kind = read.types.get(current)?;
    let part = name.strip_prefix(current)?;
    let fits = match part {
        "" => kind != "histogram",
        "_bucket" | "_sum" | "_count" => kind == "histogram",
        _ => false,
    };
    fits.then_some(kind)
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// True for no labels, or `{name="value",…}` with `\\`, `\"` and `\n` escaped.
fn labels_are_sound(text: &str) -> bool {
    let Some(mut rest) = text.strip_prefix('{') else {
        return text.is_empty();
    };
    loop {
        let Some((name, after)) = rest.split_once("=\"") else {
            return false;
        };
        let mut escaped = false;
        let end = after.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let Some(end) = end.filter(|_| is_name(name)) else {
            return false;
        };
        match &after[end + 1..] {
            "}" => return true,
            more => match more.strip_prefix(',') {
                Some(more) => rest = more,
                None => return false,
            },
        }
    }
}
