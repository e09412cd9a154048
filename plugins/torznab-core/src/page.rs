//! Detection of web pages that came instead of an answer.

/// Bytes of a page that are looked at.
const LOOKED_AT: usize = 64 << 10;

/// Kind of a web page that came instead of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    Login,
    Captcha,
    Other,
}

const CAPTCHA: &[&str] = &[
    "captcha",
    "cf-chl",
    "cf_chl",
    "challenge-platform",
    "just a moment...",
    "checking your browser",
    "ddos-guard",
    "attention required! | cloudflare",
    "are you a robot",
    "are you human",
];
const PASSWORD: &[&str] = &["type=\"password\"", "type='password'", "type=password"];
const SIGN_IN: &[&str] = &["login", "log in", "sign in", "signin", "authentication required"];

/// True when a text is a web page rather than a document of the protocol.
pub fn is_page(text: &str) -> bool {
    let head = lower(text, 2048);
    let root = |name: &str| head.find(name);
    let page = [
        root("<html"),
        root("<!doctype html"),
        root("<head>"),
        root("<body"),
    ];
    let Some(at) = page.into_iter().flatten().min() else {
        return false;
    };
    let documents = [
        root("<rss"),
        root("<feed"),
        root("<caps"),
        root("<error"),
        root("<rdf"),
    ];
    documents.into_iter().flatten().all(|document| document > at)
}

/// Kind of a page, by its text.
pub fn kind(text: &str) -> Page {
    let text = lower(text, LOOKED_AT);
    let any = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if any(PASSWORD) {
        Page::Login
    } else if any(CAPTCHA) {
        Page::Captcha
    } else if title(&text).is_some_and(|title| SIGN_IN.iter().any(|word| title.contains(word))) {
        Page::Login
    } else {
        Page::Other
    }
}

/// The title of a page, one line of at most 100 characters.
fn title(text: &str) -> Option<String> {
    let low = lower(text, LOOKED_AT);
    let start = low.find("<title")?;
    let start = start + low[start..].find('>')? + 1;
    let end = start + low[start..].find('<')?;
    // Lower-casing ASCII keeps every byte where it is.
    let title = crate::xml::unescape(text.get(start..end)?);
    let title: Vec<&str> = title.split_whitespace().collect();
    let title: String = title
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .take(100)
        .collect();
    (!title.is_empty()).then_some(title)
}

fn lower(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_told_from_documents() {
        for text in [
            "<!DOCTYPE html><html></html>",
            "\n<HTML lang=en>",
            "<?xml version='1.0'?><!DOCTYPE html PUBLIC 'x'><html xmlns='y'>",
            "<body>x",
        ] {
            assert!(is_page(text), "{text}");
        }
        for text in [
            "",
            "{}",
            "<rss><channel><description>&lt;html><html></description>",
            "<caps/>",
            "<error code='1'/><html>",
        ] {
            assert!(!is_page(text), "{text}");
        }
    }

    #[test]
    fn kinds_of_pages() {
        for (text, expected) in [
            (
                "<html><form><input name=p TYPE=\"password\"><div class=g-recaptcha>",
                Page::Login,
            ),
            ("<html><title>Just a moment...</title>", Page::Captcha),
            ("<html><script src=/cdn-cgi/challenge-platform/x>", Page::Captcha),
            ("<html><title>Sign in \u{b7} Orchard</title>", Page::Login),
            ("<html><title>502 Bad Gateway</title>", Page::Other),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn titles_are_one_line() {
        assert_eq!(
            title("<html><TITLE a=b>\n 502 \u{e4}&amp;\tx </title>").as_deref(),
            Some("502 \u{e4}& x")
        );
        assert_eq!(title("<html><title></title>"), None);
        assert_eq!(title("<html>"), None);
        assert_eq!(
            title(&format!("<title>{}</title>", "x".repeat(500))).map(|t| t.len()),
            Some(100)
        );
    }
}
