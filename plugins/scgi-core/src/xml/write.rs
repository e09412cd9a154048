//! Writes calls.

use base64::Engine as _;

/// A parameter. rTorrent takes numbers as `i8`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param<'a> {
    Text(&'a str),
    Int(i64),
    Bytes(&'a [u8]),
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(text: &'a str) -> Self {
        Param::Text(text)
    }
}

impl<'a> From<&'a String> for Param<'a> {
    fn from(text: &'a String) -> Self {
        Param::Text(text)
    }
}

impl From<i64> for Param<'_> {
    fn from(number: i64) -> Self {
        Param::Int(number)
    }
}

const PROLOG: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><methodCall><methodName>";

/// One call.
pub fn call(method: &str, params: &[Param<'_>]) -> Vec<u8> {
    let bytes: usize = params
        .iter()
        .map(|param| match param {
            Param::Text(text) => text.len(),
            Param::Int(_) => 20,
            Param::Bytes(bytes) => bytes.len().div_ceil(3) * 4,
        })
        .sum();
    let mut xml = String::with_capacity(160 + 64 * params.len() + bytes);
    xml.push_str(PROLOG);
    escape(&mut xml, method);
    xml.push_str("</methodName><params>");
    for param in params {
        xml.push_str("<param>");
        value(&mut xml, *param);
        xml.push_str("</param>");
    }
    xml.push_str("</params></methodCall>");
    xml.into_bytes()
}

/// Several calls in one, by `system.multicall`.
pub fn multicall<'a>(calls: impl IntoIterator<Item = (&'a str, &'a [Param<'a>])>) -> Vec<u8> {
    let mut xml = String::from(PROLOG);
    xml.push_str("system.multicall</methodName><params><param><value><array><data>");
    for (method, params) in calls {
        xml.push_str("<value><struct><member><name>methodName</name><value><string>");
        escape(&mut xml, method);
        xml.push_str("</string></value></member><member><name>params</name><value><array><data>");
        for param in params {
            value(&mut xml, *param);
        }
        xml.push_str("</data></array></value></member></struct></value>");
    }
    xml.push_str("</data></array></value></param></params></methodCall>");
    xml.into_bytes()
}

fn value(xml: &mut String, param: Param<'_>) {
    match param {
        Param::Text(text) => {
            xml.push_str("<value><string>");
            escape(xml, text);
            xml.push_str("</string></value>");
        }
        Param::Int(number) => {
            xml.push_str("<value><i8>");
            xml.push_str(&number.to_string());
            xml.push_str("</i8></value>");
        }
        Param::Bytes(bytes) => {
            xml.push_str("<value><base64>");
            base64::engine::general_purpose::STANDARD.encode_string(bytes, xml);
            xml.push_str("</base64></value>");
        }
    }
}

/// Control characters that XML 1.0 cannot carry are left out: one of them would make the whole call unreadable.
fn escape(xml: &mut String, text: &str) {
    for char in text.chars() {
        match char {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            // A parser would turn it into a line feed.
            '\r' => xml.push_str("&#13;"),
            '\t' | '\n' => xml.push(char),
            char if char < ' ' || matches!(char, '\u{fffe}' | '\u{ffff}') => {}
            char => xml.push(char),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call() {
        let xml = call("d.x.set", &["a<&>\u{1}\r".into(), 5.into(), Param::Bytes(b"abc")]);
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><methodCall><methodName>d.x.set</methodName><params>\
                        <param><value><string>a&lt;&amp;&gt;&#13;</string></value></param>\
                        <param><value><i8>5</i8></value></param>\
                        <param><value><base64>YWJj</base64></value></param></params></methodCall>";
        assert_eq!(String::from_utf8(xml).unwrap(), expected);
    }

    #[test]
    fn several_calls() {
        let xml = multicall([("a", ["x".into()].as_slice()), ("b", &[])]);
        let xml = String::from_utf8(xml).unwrap();
        assert!(xml.contains("<methodName>system.multicall</methodName>"), "{xml}");
        assert!(
            xml.contains("<member><name>methodName</name><value><string>b</string></value></member>"),
            "{xml}"
        );
        assert_eq!(xml.matches("<struct>").count(), 2);
    }
}
