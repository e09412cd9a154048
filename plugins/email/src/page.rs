//! A notification as HTML for a mailbox, and addresses. No bindings, so it is tested natively. No links and no pictures: a
//! mail reader loads nothing for it.

use sdk_channel::card::{Card, Progress};

/// Characters of an address.
const MAX_ADDRESS: usize = 254;
/// Characters of a subject.
const MAX_SUBJECT: usize = 180;
/// Bytes of the page: less than the host takes.
const MAX_PAGE: usize = 200 << 10;

/// Message for a text that is not an address.
const RULE: &str = "the address must be one like jo@example.org, of no more than 254 characters";

/// An address as a person entered it.
pub fn address(text: &str) -> Result<&str, &'static str> {
    let text = text.trim();
    let mut parts = text.split('@');
    let (Some(local), Some(domain), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err(RULE);
    };
    let has_gap = text.contains(|letter: char| letter.is_whitespace() || letter.is_control());
    let is_domain = domain.contains('.') && domain.split('.').all(|label| !label.is_empty());
    if has_gap || local.is_empty() || !is_domain || text.chars().count() > MAX_ADDRESS {
        return Err(RULE);
    }
    Ok(text)
}

/// Label shown to its owner: the first two characters of the address, dots for the others, and the domain.
pub fn label(address: &str) -> String {
    let (local, domain) = address.split_once('@').unwrap_or((address, ""));
    let shown: String = local.chars().take(2).collect();
    let hidden = local.chars().count().saturating_sub(2).max(3);
    format!("{shown}{}@{domain}", "•".repeat(hidden))
}

/// One line of a bounded length.
pub fn subject(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if line.chars().count() <= MAX_SUBJECT {
        return line;
    }
    let cut: String = line.chars().take(MAX_SUBJECT - 1).collect();
    format!("{cut}…")
}

/// The page of a card; none where it would be too large: the text says everything.
pub fn page(card: &Card) -> Option<String> {
    let (before, set_off, after) = card.summary();
    let set_off = match set_off {
        "" => String::new(),
        part => format!("<strong>{}</strong>", escaped(part)),
    };
    let mut parts = vec![
        format!("<h2>{}</h2>\n", escaped(&card.title())),
        format!("<p>{}{set_off}{}</p>\n", escaped(before), escaped(after)),
    ];
    let line = |text: &str| format!("<p>{}</p>\n", escaped(text));
    parts.extend(card.context.as_deref().map(line));
    if !card.facts.is_empty() {
        parts.push("<table cellpadding=\"4\">\n".to_owned());
        parts.extend(card.facts.iter().map(|fact| {
            let (label, value) = (escaped(&fact.label), escaped(&fact.value));
            format!("<tr><th align=\"left\">{label}</th><td>{value}</td></tr>\n")
        }));
        parts.push("</table>\n".to_owned());
    }
    parts.extend(card.progress.as_ref().map(|bar| line(&Progress::line(bar))));
    if !card.service.is_empty() {
        parts.push(format!("<p><small>{}</small></p>\n", escaped(&card.service)));
    }
    let body = parts.concat();
    let page = format!(
        "<!DOCTYPE html>\n<html>\n<head><meta charset=\"utf-8\"></head>\n<body>\n{body}</body>\n</html>\n"
    );
    (page.len() <= MAX_PAGE).then_some(page)
}

/// A text that shows as it is.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_are_told_from_other_texts() {
        for good in ["jo@example.org", " jö+x@mail.exämple.org ", "a@b.c"] {
            assert_eq!(address(good), Ok(good.trim()));
        }
        let long = format!("{}@example.org", "a".repeat(243));
        for bad in [
            "",
            "@",
            "jo",
            "jo@",
            "@example.org",
            "jo@example",
            "jo@.org",
            "jo@example.",
            "jo@ex..org",
            "jo@a@example.org",
            "jo @example.org",
            "jo@example.org\r\nBcc: all@example.org",
            "jo\0@example.org",
            &long,
        ] {
            assert_eq!(address(bad), Err(RULE), "{bad:?}");
        }
    }

    #[test]
    fn a_label_hides_most_of_an_address() {
        for (address, shown) in [
            ("jo@example.org", "jo•••@example.org"),
            ("j@example.org", "j•••@example.org"),
            ("josephine@example.org", "jo•••••••@example.org"),
            ("äöü.x@example.org", "äö•••@example.org"),
        ] {
            assert_eq!(label(address), shown);
        }
    }

    #[test]
    fn a_subject_is_one_short_line() {
        assert_eq!(subject("a\r\nBcc: b"), "a  Bcc: b");
        assert_eq!(subject(&"ä".repeat(180)).chars().count(), 180);
        let cut = subject(&"ä".repeat(181));
        assert!(cut.chars().count() == 180 && cut.ends_with("ä…"));
    }

    #[test]
    fn everything_from_outside_is_escaped() {
        let evil = "<script>\"'&</script>";
        let card = json!({
            "headline": { "lead": evil, "trail": evil }, "summary": { "text": format!("{evil} x"), "emphasis": "x" },
            "context": evil, "facts": [{ "label": evil, "value": evil }],
            "progress": { "label": evil, "percent": 4 }, "service": evil,
        });
        let card = Card::parse(&card.to_string()).unwrap_or_default();
        let page = page(&card).unwrap_or_default();
        assert!(!page.contains("<script") && !page.contains("\"'"), "{page}");
        assert_eq!(
            page.matches("&lt;script&gt;&quot;&#39;&amp;&lt;/script&gt;")
                .count(),
            8,
            "{page}"
        );
        assert!(page.contains("<strong>x</strong>") && page.contains(": 4%"));
        for loaded in ["href", "src", "url("] {
            assert!(!page.contains(loaded));
        }
        let large = Card {
            context: Some("<".repeat(MAX_PAGE)),
            ..Card::default()
        };
        assert_eq!(super::page(&large), None);
    }
}
