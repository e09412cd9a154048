//! `Range` and `If-Range`: which bytes of a file a request asks for.
//!
//! Bounds: a header that names more than [`MAX_PARTS`] ranges is ignored, as RFC 9110 allows, and the whole file is
//! sent; ranges that overlap or nearly touch become one, so an answer is never much longer than the file.

use qm_kernel::Timestamp;

/// Ranges in one header.
pub const MAX_PARTS: usize = 32;
/// Largest gap over which two ranges become one, in bytes: the header of a part would be longer than the gap.
const GAP: u64 = 128;

/// Bytes `start..end` of a file; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: u64,
    /// Exclusive.
    pub end: u64,
}

impl Span {
    pub(crate) fn len(self) -> u64 {
        self.end - self.start
    }

    /// `bytes 0-99/200`
    pub fn content_range(self, size: u64) -> String {
        format!("bytes {}-{}/{size}", self.start, self.end - 1)
    }
}

/// The part of a file that is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    Whole,
    One(Span),
    /// Two or more, ascending and apart from each other.
    Several(Vec<Span>),
    /// No requested range exists in the file: 416.
    Nothing,
}

/// Validators of a file's bytes, for conditional requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validators {
    /// Strong, quoted.
    pub etag: String,
    /// Instant of the last change, as an HTTP date.
    pub last_modified: String,
    /// True when the last change is more than 1 s ago, so that `last_modified` tells every later change.
    pub settled: bool,
}

impl Validators {
    pub fn new(inode: u64, size: u64, modified_ns: i128, now: Timestamp) -> Self {
        let seconds = i64::try_from(modified_ns.div_euclid(1_000_000_000)).unwrap_or(0);
        let since_epoch = std::time::Duration::from_secs(u64::try_from(seconds).unwrap_or(0).min(FAR));
        Self {
            etag: format!("\"{inode:x}-{size:x}-{modified_ns:x}\""),
            last_modified: httpdate::fmt_http_date(std::time::UNIX_EPOCH + since_epoch),
            settled: now.secs().saturating_sub(seconds) > 1,
        }
    }

    /// True when `If-Range` names the file as it is now.
    fn confirm(&self, if_range: &str) -> bool {
        let asked = if_range.trim();
        // A weak tag never confirms a range.
        asked == self.etag || (self.settled && asked == self.last_modified)
    }
}

/// The last second of the year 9999: later ones have no HTTP date.
const FAR: u64 = 253_402_300_799;

/// Reads the headers against a file of `size` bytes. What is malformed counts as absent.
pub fn asked(range: Option<&str>, if_range: Option<&str>, validators: &Validators, size: u64) -> Asked {
    if if_range.is_some_and(|value| !validators.confirm(value)) {
        return Asked::Whole;
    }
    let Some(specs) = range.and_then(parse) else {
        return Asked::Whole;
    };
    let mut spans: Vec<Span> = specs.into_iter().filter_map(|spec| spec.within(size)).collect();
    spans.sort_by_key(|span| span.start);
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end.saturating_add(GAP) => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    match merged.as_slice() {
        [] => Asked::Nothing,
        [one] => Asked::One(*one),
        _ => Asked::Several(merged),
    }
}

#[derive(Clone, Copy)]
enum Spec {
    /// `a-b`, both inclusive.
    Between(u64, u64),
    /// `a-`
    From(u64),
    /// `-n`
    Last(u64),
}

impl Spec {
    fn within(self, size: u64) -> Option<Span> {
        let (start, end) = match self {
            Spec::Between(first, last) if first <= last => (first, last.saturating_add(1).min(size)),
            Spec::Between(..) => return None,
            Spec::From(first) => (first, size),
            Spec::Last(count) => (size.saturating_sub(count), size),
        };
        (start < end).then_some(Span { start, end })
    }
}

fn parse(header: &str) -> Option<Vec<Spec>> {
    let (unit, list) = header.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let mut specs = Vec::new();
    for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        if specs.len() == MAX_PARTS {
            return None;
        }
        let (first, last) = item.split_once('-')?;
        specs.push(match (first.trim(), last.trim()) {
            ("", count) => Spec::Last(number(count)?),
            (first, "") => Spec::From(number(first)?),
            (first, last) => Spec::Between(number(first)?, number(last)?),
        });
    }
    (!specs.is_empty()).then_some(specs)
}

/// Digits only; a number no file reaches counts as the largest there is.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_900_000_000);

    fn validators() -> Validators {
        Validators::new(7, 1000, 1_800_000_000_000_000_000, NOW)
    }

    fn ask(range: &str, size: u64) -> Asked {
        asked(Some(range), None, &validators(), size)
    }

    fn single_span(start: u64, end: u64) -> Asked {
        Asked::One(Span { start, end })
    }

    #[test]
    fn single_ranges() {
        for (range, expected) in [
            ("bytes=0-99", single_span(0, 100)),
            ("bytes=900-", single_span(900, 1000)),
            ("bytes=-100", single_span(900, 1000)),
            ("bytes=-5000", single_span(0, 1000)),
            ("bytes=990-5000", single_span(990, 1000)),
            ("Bytes = 0-0", single_span(0, 1)),
            ("bytes=0-99999999999999999999999", single_span(0, 1000)),
            ("bytes=1000-", Asked::Nothing),
            ("bytes=99999999999999999999999-", Asked::Nothing),
            ("bytes=5-4", Asked::Nothing),
            ("bytes=-0", Asked::Nothing),
            ("bytes=", Asked::Whole),
            ("bytes", Asked::Whole),
            ("bytes=a-b", Asked::Whole),
            ("bytes=--5", Asked::Whole),
            ("bytes=+1-5", Asked::Whole),
            ("bytes=1-5-7", Asked::Whole),
            ("bytes=0x1-2", Asked::Whole),
            ("items=0-1", Asked::Whole),
        ] {
            assert_eq!(ask(range, 1000), expected, "{range}");
        }
        for range in ["bytes=0-0", "bytes=0-", "bytes=-1"] {
            assert_eq!(ask(range, 0), Asked::Nothing, "{range} of an empty file");
        }
        assert_eq!(asked(None, None, &validators(), 1000), Asked::Whole);
    }

    #[test]
    fn several_ranges_are_sorted_and_joined() {
        let span = |start, end| Span { start, end };
        assert_eq!(
            ask("bytes=800-899, 0-9", 1000),
            Asked::Several(vec![span(0, 10), span(800, 900)])
        );
        assert_eq!(ask("bytes=0-99,50-149,140-", 1000), single_span(0, 1000));
        assert_eq!(
            ask("bytes=0-9,100-109", 1000),
            single_span(0, 110),
            "nearly touching"
        );
        assert_eq!(
            ask("bytes=2000-,0-9", 1000),
            single_span(0, 10),
            "one of them exists"
        );
        assert_eq!(ask("bytes=2000-,3000-", 1000), Asked::Nothing);
        assert_eq!(ask("bytes=0-9,x", 1000), Asked::Whole);
        let many = |count: u64| {
            let items: Vec<String> = (0..count).map(|n| format!("{}-{}", n * 1000, n * 1000)).collect();
            ask(&format!("bytes={}", items.join(",")), 1_000_000)
        };
        assert!(matches!(many(MAX_PARTS as u64), Asked::Several(spans) if spans.len() == MAX_PARTS));
        assert_eq!(many(MAX_PARTS as u64 + 1), Asked::Whole);
    }

    #[test]
    fn a_range_of_another_version_is_the_whole_file() {
        let current = validators();
        let with = |if_range: &str| asked(Some("bytes=0-0"), Some(if_range), &current, 1000);
        assert_eq!(with(&current.etag), single_span(0, 1));
        assert_eq!(with(&current.last_modified), single_span(0, 1));
        for stale in [
            format!("W/{}", current.etag),
            "\"x\"".into(),
            "Thu, 01 Jan 1970 00:00:00 GMT".into(),
            String::new(),
        ] {
            assert_eq!(with(&stale), Asked::Whole, "{stale}");
        }
        let fresh = Validators::new(7, 1000, i128::from(NOW.ms()) * 1_000_000, NOW);
        assert_eq!(
            asked(Some("bytes=0-0"), Some(&fresh.last_modified), &fresh, 1000),
            Asked::Whole,
            "it may change again within this second"
        );
    }

    proptest! {
        #[test]
        fn spans_lie_in_the_file_and_apart(range in "bytes=[0-9, -]{0,40}", size in 0u64..2000) {
            let spans = match ask(&range, size) {
                Asked::One(span) => vec![span],
                Asked::Several(spans) => { prop_assert!(spans.len() > 1); spans }
                Asked::Whole | Asked::Nothing => vec![],
            };
            prop_assert!(spans.iter().all(|span| span.start < span.end && span.end <= size));
            prop_assert!(spans.windows(2).all(|pair| pair[0].end + GAP < pair[1].start));
        }
    }
}
