//! A message in Telegram's HTML. No bindings, so it is tested natively.
//!
//! Telegram counts a text without its markup; we count it with, so that it fits whoever counts, and never cut within a mark.

use sdk_channel::card::{Card, Progress};

/// Characters of a message.
pub const TEXT: usize = 4096;
/// Characters beside a picture.
pub const CAPTION: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Bold,
    Italic,
}

impl Style {
    const fn marks(self) -> (&'static str, &'static str) {
        match self {
            Style::Plain => ("", ""),
            Style::Bold => ("<b>", "</b>"),
            Style::Italic => ("<i>", "</i>"),
        }
    }
}

/// A piece of text in one style.
type Span = (Style, String);

/// The message as HTML of at most `most` characters. `text` is all there is without a card.
pub fn html(card: Option<&Card>, text: &str, most: usize) -> String {
    let spans = match card {
        None => vec![(Style::Plain, text.to_owned())],
        Some(card) if card.media.is_some() => watched(card),
        Some(card) => render_other(card),
    };
    marked(&spans, most)
}

/// Text of a playback card: its title, and the media being watched.
fn watched(card: &Card) -> Vec<Span> {
    let mut spans = vec![(Style::Bold, card.title())];
    if let Some(media) = &card.media {
        spans.extend([
            (Style::Plain, "\n".to_owned()),
            (Style::Bold, media.primary.clone()),
        ]);
        if let Some(secondary) = &media.secondary {
            spans.push((Style::Plain, format!("\n{secondary}")));
        }
    }
    if let Some(context) = &card.context {
        spans.push((Style::Plain, format!("\n\n{context}")));
    }
    spans
}

/// Text of any other card.
fn render_other(card: &Card) -> Vec<Span> {
    let (before, set_off, after) = card.summary();
    let mut spans = vec![
        (Style::Plain, format!("{} ", sign(&card.icon))),
        (Style::Bold, card.title()),
        (Style::Plain, format!("\n{before}")),
        (Style::Bold, set_off.to_owned()),
        (Style::Plain, after.to_owned()),
    ];
    if let Some(context) = &card.context {
        spans.push((Style::Plain, format!("\n{context}")));
    }
    if !card.facts.is_empty() || card.progress.is_some() {
        spans.push((Style::Plain, "\n".to_owned()));
    }
    for fact in &card.facts {
        spans.extend([
            (Style::Plain, format!("\n{} ", sign(&fact.icon))),
            (Style::Italic, format!("{}:", fact.label)),
            (Style::Plain, format!(" {}", fact.value)),
        ]);
    }
    let bar = card.progress.as_ref().map(Progress::line);
    spans.extend(bar.map(|bar| (Style::Plain, format!("\n{bar}"))));
    spans
}

fn sign(icon: &str) -> &'static str {
    match icon {
        "play" => "▶️",
        "stop" => "⏹️",
        "pause" => "⏸️",
        "buffering" => "⏳",
        "download" => "⬇️",
        "alert" => "🚨",
        "disk" => "💾",
        "workflow" => "🔀",
        "plug" => "🔌",
        "shield" => "🛡️",
        "user" => "👤",
        "film" => "🎬",
        "tv" => "📺",
        "clock" => "🕒",
        "percent" => "📊",
        "monitor" => "🖥️",
        "activity" => "📈",
        "library" => "📚",
        "server" => "🗄️",
        "gauge" => "🎛️",
        _ => "🔔",
    }
}

fn escape(letter: char, into: &mut String) {
    match letter {
        '&' => into.push_str("&amp;"),
        '<' => into.push_str("&lt;"),
        '>' => into.push_str("&gt;"),
        '"' => into.push_str("&quot;"),
        '\'' => into.push_str("&#39;"),
        // Telegram refuses a text with one.
        '\0' => {}
        _ => into.push(letter),
    }
}

fn marked(spans: &[Span], most: usize) -> String {
    let whole = spans
        .iter()
        .map(|(style, text)| render_span(*style, text))
        .collect::<String>();
    if length(&whole) <= most {
        return whole;
    }
    // One for the sign that there was more.
    let mut left = most.saturating_sub(1);
    let mut html = String::new();
    'spans: for (style, text) in spans.iter().filter(|(_, text)| !text.is_empty()) {
        let (open, close) = style.marks();
        let Some(within) = left.checked_sub(open.len() + close.len()) else {
            break;
        };
        left = within;
        html.push_str(open);
        for letter in text.chars() {
            let mut safe = String::new();
            escape(letter, &mut safe);
            let Some(rest) = left.checked_sub(length(&safe)) else {
                html.push_str(close);
                break 'spans;
            };
            left = rest;
            html.push_str(&safe);
        }
        html.push_str(close);
    }
    html.push('…');
    html
}

fn render_span(style: Style, text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        escape(letter, &mut safe);
    }
    if safe.is_empty() {
        return safe;
    }
    let (open, close) = style.marks();
    format!("{open}{safe}{close}")
}

/// Length in UTF-16 units, as Telegram counts: never fewer than characters.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn card(more: &serde_json::Value) -> Card {
        let mut card = json!({
            "accent": "error", "icon": "disk", "headline": { "lead": "Storage", "trail": "almost full" },
            "summary": { "text": "Only 4% is free on /data", "emphasis": "/data" },
            "facts": [{ "icon": "disk", "label": "Location", "value": "/data" }],
            "progress": { "label": "Free space", "percent": 4 },
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            card[name] = value.clone();
        }
        Card::parse(&card.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_card_is_a_text_with_marks() {
        assert_eq!(
            html(Some(&card(&json!({}))), "t", TEXT),
            "💾 <b>Storage almost full</b>\nOnly 4% is free on <b>/data</b>\n\n💾 <i>Location:</i> /data\nFree space: 4%"
        );
        let watched = card(&json!({
            "icon": "play", "headline": { "lead": "Jo", "trail": "started watching" }, "context": "1080p • TV",
            "media": { "kind": "episode", "primary": "Show", "secondary": "S01E02 • Two" },
        }));
        assert_eq!(
            html(Some(&watched), "t", TEXT),
            "<b>Jo started watching</b>\n<b>Show</b>\nS01E02 • Two\n\n1080p • TV"
        );
        assert_eq!(html(None, "a <b>\n& \"'", TEXT), "a &lt;b&gt;\n&amp; &quot;&#39;");
    }

    #[test]
    fn what_comes_from_outside_is_escaped() {
        let evil = "<a href='x'>&\0";
        let card = card(&json!({
            "headline": { "lead": evil, "trail": evil }, "summary": { "text": evil, "emphasis": evil }, "context": evil,
            "facts": [{ "icon": evil, "label": evil, "value": evil }], "progress": { "label": evil, "percent": 1 },
        }));
        let html = html(Some(&card), "t", TEXT);
        assert!(
            !html.contains("<a") && !html.contains('\'') && !html.contains('\0'),
            "{html}"
        );
        assert_eq!(
            html.matches("&lt;a href=&#39;x&#39;&gt;&amp;").count(),
            7,
            "{html}"
        );
    }

    #[test]
    fn a_long_text_is_cut_and_its_marks_are_closed() {
        for (name, value) in [("a", "x"), ("b", "<"), ("c", "\u{1F600}"), ("d", "ä")] {
            let facts = json!([{ "icon": "disk", "label": value.repeat(700), "value": value.repeat(5000) }]);
            let headline = json!({ "lead": value.repeat(name.len() * 300), "trail": "" });
            for more in [
                json!({ "facts": facts }),
                json!({ "headline": headline, "facts": facts }),
            ] {
                for most in [TEXT, CAPTION, 40, 1] {
                    let html = html(Some(&card(&more)), "t", most);
                    assert!(
                        html.chars().count() <= most && html.ends_with('…'),
                        "{most}: {html}"
                    );
                    for mark in ["b", "i"] {
                        let (open, close) = (format!("<{mark}>"), format!("</{mark}>"));
                        assert_eq!(
                            html.matches(&open).count(),
                            html.matches(&close).count(),
                            "{html}"
                        );
                    }
                    let whole = html.matches('&').count() == html.matches(';').count();
                    assert!(whole, "no half of an entity is left: {html}");
                }
            }
        }
        assert_eq!(html(None, &"x".repeat(TEXT), TEXT).len(), TEXT);
    }
}
