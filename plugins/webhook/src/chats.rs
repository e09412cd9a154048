//! Bodies that the incoming webhooks of two chats take. Texts have names that strangers chose: nothing in one mentions anybody,
//! makes a link, or changes how it looks.

use serde_json::json;

/// Characters that Discord takes.
const DISCORD_CHARS: usize = 2000;
/// Characters of a text for Slack, which cuts longer ones somewhere.
const SLACK_CHARS: usize = 4000;
/// A space without width: behind it no word is a mention.
const NO_SPACE: char = '\u{200b}';

/// The body of a text for a chat.
///
/// # Errors
/// A sentence about an unknown preset, or a text that is missing.
pub fn body(preset: &str, text: &str) -> Result<String, String> {
    if !["discord", "slack"].contains(&preset) {
        return Err(format!(
            "there is no preset {preset:?}: there are discord and slack"
        ));
    }
    if text.trim().is_empty() {
        return Err("text is required with a preset".to_owned());
    }
    let body = if preset == "discord" {
        // Nobody is told by a mention, whatever the text says; links are not fetched to show what is behind them.
        json!({ "content": discord(text), "allowed_mentions": { "parse": [] }, "flags": 4 })
    } else {
        json!({ "text": slack(text), "mrkdwn": false })
    };
    Ok(body.to_string())
}

/// The text as Discord shows it letter by letter.
fn discord(text: &str) -> String {
    let pieces = clean(text).map(|letter| match letter {
        '\\' | '*' | '_' | '~' | '`' | '|' | '>' | '<' | '#' | '-' | '[' | ']' | '(' | ')' | ':' | '+'
        | '.' => {
            format!("\\{letter}")
        }
        '@' => format!("@{NO_SPACE}"),
        letter => letter.to_string(),
    });
    join_up_to(DISCORD_CHARS, pieces)
}

/// The text as Slack shows it letter by letter: its mentions begin with `<`, an address has a colon, and a picture is a word
/// between two.
fn slack(text: &str) -> String {
    let pieces = clean(text).map(|letter| match letter {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        ':' => format!(":{NO_SPACE}"),
        '@' => format!("@{NO_SPACE}"),
        letter => letter.to_string(),
    });
    join_up_to(SLACK_CHARS, pieces)
}

/// Letters of a text, without those that control how it is shown; a new line stays.
fn clean(text: &str) -> impl Iterator<Item = char> {
    let is_hidden = |letter: char| {
        letter.is_control() && letter != '\n'
            || ('\u{202a}'..='\u{202e}').contains(&letter)
            || ('\u{2066}'..='\u{2069}').contains(&letter)
    };
    text.chars().filter(move |letter| !is_hidden(*letter))
}

/// As many pieces as fit; none is cut.
fn join_up_to(chars: usize, pieces: impl Iterator<Item = String>) -> String {
    const MORE: &str = "\u{2026}";
    let mut joined = String::new();
    let mut left = chars - 1;
    for piece in pieces {
        let Some(rest) = left.checked_sub(piece.chars().count()) else {
            joined.push_str(MORE);
            break;
        };
        left = rest;
        joined.push_str(&piece);
    }
    joined
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const HOSTILE: &str = "a\"b\\c\n@everyone <@123> <!channel> <#9> [x](https://evil.example) *b* _i_ `c` ||s|| {name} &amp; \u{202e}x\0";

    fn posted(preset: &str, text: &str) -> Value {
        serde_json::from_str(&body(preset, text).unwrap_or_default()).unwrap_or_default()
    }

    #[test]
    fn discord_shows_a_text_letter_by_letter_and_mentions_nobody() {
        let body = posted("discord", HOSTILE);
        assert_eq!(body["allowed_mentions"], json!({ "parse": [] }));
        let content = body["content"].as_str().unwrap_or_default();
        assert!(
            content.starts_with("a\"b\\\\c\n@\u{200b}everyone \\<@\u{200b}123\\> \\<!channel\\>"),
            "{content}"
        );
        for mark in [
            "@everyone",
            "<@",
            "](",
            " *b",
            "||",
            "`c",
            "\u{202e}",
            "\0",
            "https://",
        ] {
            let bare = content
                .match_indices(mark)
                .any(|(at, _)| !content[..at].ends_with('\\'));
            assert!(!bare, "{mark} in {content}");
        }
        // A reader that takes the escapes away has the name again.
        let plain: String = content
            .replace('\u{200b}', "")
            .replace("\\\\", "\u{1}")
            .replace('\\', "")
            .replace('\u{1}', "\\");
        assert_eq!(plain, HOSTILE.replace(['\u{202e}', '\0'], ""));
    }

    #[test]
    fn slack_shows_a_text_letter_by_letter_and_mentions_nobody() {
        let body = posted("slack", HOSTILE);
        assert_eq!(body["mrkdwn"], json!(false));
        let text = body["text"].as_str().unwrap_or_default();
        assert!(
            !text.contains(['<', '>']) && !text.contains("@everyone"),
            "{text}"
        );
        assert!(
            text.contains("&lt;!channel&gt;") && text.contains("&amp;amp;"),
            "{text}"
        );
        assert!(!text.contains("https://"), "{text}");
        let plain = text
            .replace('\u{200b}', "")
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&");
        assert_eq!(plain, HOSTILE.replace(['\u{202e}', '\0'], ""));
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        for (preset, field, most) in [("discord", "content", 2000), ("slack", "text", 4000)] {
            let body = posted(preset, &"<\u{e9}".repeat(3000));
            let text = body[field].as_str().unwrap_or_default();
            assert!(
                text.chars().count() <= most && text.ends_with('\u{2026}'),
                "{preset}"
            );
            let cut = text.trim_end_matches('\u{2026}');
            assert!(
                !cut.ends_with('\\')
                    && (preset == "discord" || cut.ends_with(';') || cut.ends_with('\u{e9}')),
                "{preset}"
            );
            let short = posted(preset, "short");
            assert_eq!(short[field], "short");
        }
    }
}
