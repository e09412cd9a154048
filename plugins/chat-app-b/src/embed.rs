//! A message as Discord takes it: one embed, within its limits. No bindings, so it is tested natively.
//!
//! Lengths are counted in UTF-16 units: Discord counts characters, and never more of them than those.

use sdk_channel::card::Card;
use serde_json::{Value, json};

const TITLE: usize = 256;
pub const DESCRIPTION: usize = 4096;
const FIELDS: usize = 25;
const NAME: usize = 256;
const VALUE: usize = 1024;
const FOOTER: usize = 2048;
/// Limit for all texts of an embed together, in UTF-16 code units.
const ALL: usize = 6000;

/// Stands between what would mention somebody, and for a text that is empty, which Discord refuses.
const NOTHING: &str = "\u{200b}";

/// A message, and how many of its facts it had no room for.
pub struct Embed {
    pub body: Value,
    pub left_out: usize,
}

/// The body that is posted. `subject` and `text` are all there is without a card.
pub fn embed(card: Option<&Card>, subject: &str, text: &str) -> Embed {
    let Some(card) = card else {
        let embed = json!({
            "title": filled(cut(&plain(subject), TITLE)),
            "description": cut(&plain(text), DESCRIPTION),
            "color": colour(""),
        });
        return Embed {
            body: around(embed),
            left_out: 0,
        };
    };
    let title = filled(cut(&plain(&card.title()), TITLE));
    let footer = cut(&[unmentioned(&card.service)], FOOTER);
    let mut left = ALL - units(&title) - units(&footer);
    let description = cut(&description(card), DESCRIPTION.min(left));
    left -= units(&description);
    let mut fields = Vec::new();
    for fact in card.facts.iter().take(FIELDS) {
        let name = filled(cut(&plain(&fact.label), NAME));
        let value = filled(cut(&plain(&fact.value), VALUE));
        let Some(rest) = left.checked_sub(units(&name) + units(&value)) else {
            break;
        };
        left = rest;
        fields.push(json!({ "name": name, "value": value, "inline": true }));
    }
    let left_out = card.facts.len() - fields.len();
    let mut embed = json!({
        "title": title, "description": description, "color": colour(&card.accent), "fields": fields,
    });
    if !footer.trim().is_empty() {
        embed["footer"] = json!({ "text": footer });
    }
    if !card.timestamp.is_empty() {
        embed["timestamp"] = json!(card.timestamp);
    }
    Embed {
        body: around(embed),
        left_out,
    }
}

/// Body of a message with one embed. It mentions nobody, whatever its text is.
fn around(embed: Value) -> Value {
    json!({ "embeds": [embed], "allowed_mentions": { "parse": [] } })
}

fn colour(accent: &str) -> u32 {
    match accent {
        "started" | "success" => 0x22_C5_5E,
        "stopped" => 0xF4_3F_5E,
        "warning" => 0xF5_9E_0B,
        "error" => 0xDC_26_26,
        _ => 0x64_74_8B,
    }
}

/// The sentence, what is watched, the line below, and the bar, in pieces that are not cut apart.
fn description(card: &Card) -> Vec<String> {
    let (before, set_off, after) = card.summary();
    let mut pieces = plain(before);
    if !set_off.is_empty() {
        pieces.push(format!("**{}**", plain(set_off).concat()));
    }
    pieces.extend(plain(after));
    let media = card.media.as_ref().and_then(|media| media.secondary.as_deref());
    let bar = card.progress.as_ref().map(sdk_channel::card::Progress::line);
    for line in media
        .into_iter()
        .chain(card.context.as_deref())
        .chain(bar.as_deref())
    {
        pieces.push("\n".to_owned());
        pieces.extend(plain(line));
    }
    pieces
}

/// A text that shows as it is: markup escaped, mentions broken; in pieces that are not cut apart.
fn plain(text: &str) -> Vec<String> {
    let mut pieces = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        let next = rest.as_str();
        pieces.push(match letter {
            '@' if calls(next) => format!("@{NOTHING}"),
            '<' if next.starts_with('@') => format!("<{NOTHING}"),
            '*' | '_' | '`' | '~' | '|' | '\\' | '[' | ']' | '(' | ')' | '>' | '#' | '-' => {
                format!("\\{letter}")
            }
            _ => letter.to_string(),
        });
    }
    pieces
}

/// Text without mentions, for fields in which Discord reads no markup.
fn unmentioned(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        safe.push(letter);
        let next = rest.as_str();
        if (letter == '@' && calls(next)) || (letter == '<' && next.starts_with('@')) {
            safe.push_str(NOTHING);
        }
    }
    safe
}

/// True when the text after an `@` would mention everybody: it begins with `everyone` or `here`.
fn calls(next: &str) -> bool {
    ["everyone", "here"].iter().any(|word| {
        next.get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word))
    })
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Text of as many pieces as fit, with a sign that there were more.
fn cut(pieces: &[String], most: usize) -> String {
    let all: usize = pieces.iter().map(|piece| units(piece)).sum();
    if all <= most {
        return pieces.concat();
    }
    let mut text = String::new();
    let mut left = most.saturating_sub(1);
    // A piece that is a text of its own (the footer) is cut by its letters.
    let letters = pieces.iter().flat_map(|piece| {
        if pieces.len() == 1 {
            piece.chars().map(String::from).collect()
        } else {
            vec![piece.clone()]
        }
    });
    for piece in letters {
        let Some(rest) = left.checked_sub(units(&piece)) else {
            break;
        };
        left = rest;
        text.push_str(&piece);
    }
    if most > 0 {
        text.push('…');
    }
    text
}

fn filled(text: String) -> String {
    if text.trim().is_empty() {
        NOTHING.to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use sdk_channel::card::{Fact, Headline, Media, Progress, Summary};

    use super::*;

    fn card() -> Card {
        Card {
            accent: "error".to_owned(),
            icon: "disk".to_owned(),
            headline: Headline {
                lead: "Storage".to_owned(),
                trail: "almost full".to_owned(),
            },
            summary: Summary {
                text: "Only 4% is free on /data_1".to_owned(),
                emphasis: Some("/data_1".to_owned()),
            },
            facts: vec![Fact {
                icon: "disk".to_owned(),
                label: "Location".to_owned(),
                value: "/data_1".to_owned(),
            }],
            progress: Some(Progress {
                percent: 4,
                label: "Free space".to_owned(),
            }),
            timestamp: "2026-01-02T03:04:05.000Z".to_owned(),
            service: "Quarter-master".to_owned(),
            ..Card::default()
        }
    }

    #[test]
    fn a_card_is_one_embed() {
        let embed = embed(Some(&card()), "s", "t");
        assert_eq!(embed.left_out, 0);
        assert_eq!(
            embed.body,
            json!({
                "allowed_mentions": { "parse": [] },
                "embeds": [{
                    "title": "Storage almost full",
                    "description": "Only 4% is free on **/data\\_1**\nFree space: 4%",
                    "color": 0xDC2626,
                    "fields": [{ "name": "Location", "value": "/data\\_1", "inline": true }],
                    "footer": { "text": "Quarter-master" },
                    "timestamp": "2026-01-02T03:04:05.000Z",
                }],
            })
        );
        let mut watched = card();
        watched.media = Some(Media {
            kind: "episode".to_owned(),
            primary: "Show".to_owned(),
            secondary: Some("S01E02 • Two".to_owned()),
        });
        watched.context = Some("1080p".to_owned());
        let described = super::embed(Some(&watched), "s", "t").body["embeds"][0]["description"].clone();
        assert!(
            described
                .as_str()
                .is_some_and(|text| text.contains("\nS01E02 • Two\n1080p\n")),
            "{described}"
        );
    }

    #[test]
    fn a_message_without_a_card_says_its_text() {
        let embed = embed(None, "A *test*", "Hello @everyone").body["embeds"][0].clone();
        assert_eq!(embed["title"], "A \\*test\\*");
        assert_eq!(embed["description"], "Hello @\u{200b}everyone");
        assert_eq!(super::embed(None, " ", "").body["embeds"][0]["title"], NOTHING);
    }

    #[test]
    fn nobody_is_called_and_nothing_is_marked_up() {
        let text = "@everyone @Here <@123> <@&5> @hereabouts @jo *_`~|\\[]()>#-";
        assert_eq!(
            plain(text).concat(),
            "@\u{200b}everyone @\u{200b}Here <\u{200b}@123\\> <\u{200b}@&5\\> @\u{200b}hereabouts @jo \
             \\*\\_\\`\\~\\|\\\\\\[\\]\\(\\)\\>\\#\\-"
        );
        assert_eq!(
            unmentioned("a-b <@1> @everyone"),
            "a-b <\u{200b}@1> @\u{200b}everyone"
        );
    }

    #[test]
    fn every_limit_is_kept() {
        let mut large = card();
        large.headline.lead = "*".repeat(400);
        large.summary.text = "\u{1F600}".repeat(5000);
        large.service = "s".repeat(3000);
        large.facts = (0..40)
            .map(|n| Fact {
                icon: String::new(),
                label: if n == 0 { String::new() } else { "_".repeat(300) },
                value: "_".repeat(2000),
            })
            .collect();
        for (summary, service) in [(5000, 3000), (10, 3000), (10, 3), (4000, 3)] {
            large.summary.text = "\u{1F600}".repeat(summary);
            large.service = "s".repeat(service);
            let made = embed(Some(&large), "s", "t");
            let embed = &made.body["embeds"][0];
            let length = |value: &Value| value.as_str().map_or(0, units);
            let title = embed["title"].as_str().unwrap_or_default();
            assert!(units(title) <= TITLE && title.ends_with("\\*…"), "{title}");
            assert!(length(&embed["description"]) <= DESCRIPTION);
            assert!(length(&embed["footer"]["text"]) <= FOOTER);
            let fields = embed["fields"].as_array().cloned().unwrap_or_default();
            let mut all =
                length(&embed["title"]) + length(&embed["description"]) + length(&embed["footer"]["text"]);
            for field in &fields {
                assert!((1..=NAME).contains(&length(&field["name"])) && length(&field["value"]) <= VALUE);
                all += length(&field["name"]) + length(&field["value"]);
            }
            assert!(fields.len() <= FIELDS && all <= ALL, "{all}");
            assert_eq!(made.left_out, 40 - fields.len());
        }
        assert_eq!(cut(&plain("ab"), 2), "ab");
        assert_eq!(cut(&plain("abc"), 2), "a…");
        assert_eq!(cut(&plain("*bc"), 2), "…", "no half of a piece is left");
        assert_eq!(cut(&plain("abc"), 0), "");
    }
}
