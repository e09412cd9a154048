//! Makes sloppy markup readable before it is read: a `<` that begins nothing becomes `&lt;`, a document type is taken out.
//!
//! One pass; what it looks ahead for is either found, and passed over, or looked for no more.

use std::borrow::Cow;

use memchr::memmem;

/// Repaired text, and warnings about its faults.
pub struct Repaired<'a> {
    pub text: Cow<'a, str>,
    pub warnings: Vec<&'static str>,
}

pub fn repair(text: &str) -> Repaired<'_> {
    let mut pass = Pass {
        text,
        kept: 0,
        out: String::new(),
        no_more_instructions: false,
        warnings: Vec::new(),
    };
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'<', &text.as_bytes()[at..]) {
        let start = at + next;
        match pass.markup(start) {
            Some(end) => at = end,
            None => break,
        }
    }
    let text = if pass.out.is_empty() && pass.kept == 0 {
        Cow::Borrowed(text)
    } else {
        pass.out.push_str(&text[pass.kept..]);
        Cow::Owned(pass.out)
    };
    Repaired {
        text,
        warnings: pass.warnings,
    }
}

struct Pass<'a> {
    text: &'a str,
    /// Position in `text`, in bytes. All before it is in `out` once something was changed.
    kept: usize,
    out: String,
    no_more_instructions: bool,
    warnings: Vec<&'static str>,
}

impl Pass<'_> {
    /// Judges the `<` at `start`; where to go on, or none where nothing more can be said.
    fn markup(&mut self, start: usize) -> Option<usize> {
        let bytes = &self.text.as_bytes()[start..];
        let found = |what: &[u8]| memmem::find(bytes, what).map(|at| start + at + what.len());
        match bytes.get(1) {
            Some(b'!') if bytes.starts_with(b"<![CDATA[") => found(b"]]>"),
            Some(b'!') if bytes.starts_with(b"<!--") => found(b"-->"),
            Some(b'!') if bytes.len() > 9 && bytes[2..9].eq_ignore_ascii_case(b"DOCTYPE") => {
                self.document_type(start)
            }
            Some(b'?') if !self.no_more_instructions => match found(b"?>") {
                Some(end) => Some(end),
                None => {
                    self.no_more_instructions = true;
                    Some(self.escape(start))
                }
            },
            Some(b'/') if bytes.get(2).is_some_and(|byte| begins_name(*byte)) => Some(start + 2),
            Some(byte) if begins_name(*byte) => Some(self.tag(start)),
            // The end of the document may have been cut off here.
            None => None,
            Some(_) => Some(self.escape(start)),
        }
    }

    /// A tag has its `>` before the next `<`, or has that in a value.
    fn tag(&mut self, start: usize) -> usize {
        let rest = &self.text.as_bytes()[start + 1..];
        let Some(end) = memchr::memchr2(b'<', b'>', rest) else {
            return self.text.len();
        };
        let odd = |quote: u8| memchr::memchr_iter(quote, &rest[..end]).count() % 2 == 1;
        if rest[end] == b'<' && !odd(b'"') && !odd(b'\'') {
            self.escape(start);
        }
        start + 1 + end
    }

    /// Removes a document type, above all its entities: the reader uses none of it.
    fn document_type(&mut self, start: usize) -> Option<usize> {
        let bytes = &self.text.as_bytes()[start..];
        let Some(first) = memchr::memchr2(b'[', b'>', bytes) else {
            self.cut(start, self.text.len());
            return None;
        };
        let mut end = start + first + 1;
        if bytes[first] == b'[' {
            let mut ends = memchr::memchr_iter(b']', &bytes[first..]).map(|at| first + at + 1);
            let end_of_subset = ends.find(|at| {
                let rest = &bytes[*at..];
                // A subset ends in `]>`, with some white space.
                let blank = rest
                    .iter()
                    .take(64)
                    .take_while(|byte| byte.is_ascii_whitespace())
                    .count();
                rest.get(blank) == Some(&b'>')
            });
            let Some(close) = end_of_subset else {
                self.cut(start, self.text.len());
                return None;
            };
            let rest = memchr::memchr(b'>', &bytes[close..]).unwrap_or(0);
            if memmem::find(&bytes[first..close], b"<!ENTITY").is_some() {
                self.warn("the feed declares entities, which are not read");
            }
            end = start + close + rest + 1;
        }
        self.cut(start, end);
        Some(end)
    }

    fn escape(&mut self, start: usize) -> usize {
        self.out.push_str(&self.text[self.kept..start]);
        self.out.push_str("&lt;");
        self.kept = start + 1;
        self.warn("the feed has `<` in texts, unescaped");
        start + 1
    }

    fn cut(&mut self, start: usize, end: usize) {
        self.out.push_str(&self.text[self.kept..start]);
        // Lines keep their numbers.
        let lines = memchr::memchr_iter(b'\n', &self.text.as_bytes()[start..end]).count();
        self.out.extend(std::iter::repeat_n('\n', lines));
        self.kept = end;
    }

    fn warn(&mut self, what: &'static str) {
        if !self.warnings.contains(&what) {
            self.warnings.push(what);
        }
    }
}

const fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':') || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_markup_stays_as_it_is() {
        for text in [
            "",
            "<?xml version='1.0'?>\n<a b='c'><t:b/>x &lt; y</a>",
            "<a><![CDATA[ 1 < 2 <3 ]]><!-- < --></a>",
            "<a b='1 <c>'>x</a>",
            "<ä/>",
        ] {
            let repaired = repair(text);
            assert_eq!(repaired.text, text);
            assert!(matches!(repaired.text, Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn what_begins_nothing_is_text() {
        for (text, expected) in [
            ("<a>I <3 you</a>", "<a>I &lt;3 you</a>"),
            ("<a>1 < 2</a>", "<a>1 &lt; 2</a>"),
            ("<a>x <y z</a>", "<a>x &lt;y z</a>"),
            ("<a></ b></a>", "<a>&lt;/ b></a>"),
            ("<a><?b</a>", "<a>&lt;?b</a>"),
            ("<a><!b></a>", "<a>&lt;!b></a>"),
            ("<<a>", "&lt;<a>"),
            ("<a b='1 <2'>x</a>", "<a b='1 &lt;2'>x</a>"),
        ] {
            assert_eq!(repair(text).text, expected, "{text}");
        }
    }

    #[test]
    fn document_types_are_taken_out() {
        for (text, expected) in [
            ("<!DOCTYPE rss><a/>", "<a/>"),
            ("<!doctype rss SYSTEM \"x\"\n><a/>", "\n<a/>"),
            (
                "<!DOCTYPE a [<!ENTITY x \"]\"> <!ENTITY y SYSTEM 'file:///etc/passwd'>\n] ><a>&x;</a>",
                "\n<a>&x;</a>",
            ),
            ("<!DOCTYPE a [<!ENTITY", ""),
            ("<!DOCTYPE a", ""),
        ] {
            assert_eq!(repair(text).text, expected, "{text}");
        }
    }

    #[test]
    fn what_never_ends_costs_one_look() {
        for part in [
            "<?",
            "<!",
            "<a ",
            "<!--",
            "<![CDATA[",
            "<!DOCTYPE a [",
            "<a b=\"",
            "</",
        ] {
            let text = part.repeat((1 << 20) / part.len());
            assert!(repair(&text).text.len() <= 4 * text.len());
        }
    }
}
