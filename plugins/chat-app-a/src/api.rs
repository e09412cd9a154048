//! Telegram's Bot API: tokens, answers, and who sent a code. No bindings, so it is tested natively.

use sdk_channel::PluginError;
use serde::Deserialize;
use serde_json::Value;

/// Base URL of the API.
pub const ORIGIN: &str = "https://api.telegram.org";
/// Characters of a token.
const MAX_TOKEN: usize = 256;
/// The longest pause that is handed on, in seconds.
const MAX_PAUSE: u64 = 86_400;

/// A bot's token: digits, a colon, and letters, digits, `-` and `_`. It stands in the path of every request, so nothing else
/// may be in it; the error repeats nothing of it.
pub fn token(text: Option<&str>) -> Result<&str, PluginError> {
    let wrong = |why: &str| PluginError::InvalidConfig(why.to_owned());
    let text = text.ok_or_else(|| wrong("A bot token is required."))?;
    let is_good = text.split_once(':').is_some_and(|(id, key)| {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        !id.is_empty()
            && id.bytes().all(|byte| byte.is_ascii_digit())
            && !key.is_empty()
            && key.bytes().all(is_word)
    });
    if is_good && text.len() <= MAX_TOKEN {
        Ok(text)
    } else {
        Err(wrong("`token` must be a bot's token like 123456:ABC-def"))
    }
}

/// The URL of a method. It is a secret.
pub fn url(token: &str, method: &str) -> String {
    format!("{ORIGIN}/bot{token}/{method}")
}

/// Envelope of every answer of the Bot API.
#[derive(Deserialize)]
struct Envelope {
    ok: bool,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error_code: Option<u16>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parameters: Option<Parameters>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

/// Failure of a method.
#[derive(Debug, PartialEq)]
pub enum Refusal {
    /// The group is another one by now.
    Moved(i64),
    Failed(PluginError),
}

impl From<Refusal> for PluginError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Moved(_) => PluginError::NotFound("the chat: it has moved".to_owned()),
            Refusal::Failed(error) => error,
        }
    }
}

/// Result of a method. For a failure Telegram gives the reason in the body, beside the HTTP status.
pub fn result(status: u16, body: &[u8]) -> Result<Value, Refusal> {
    let envelope: Option<Envelope> = serde_json::from_slice(body).ok();
    let Some(envelope) = envelope else {
        return Err(Refusal::Failed(match status {
            429 => PluginError::Throttled(None),
            500.. => PluginError::Unreachable(format!("Telegram answered {status}")),
            _ => PluginError::Protocol(format!("Telegram answered {status}, and not in its protocol")),
        }));
    };
    if envelope.ok {
        return Ok(envelope.result);
    }
    let code = envelope.error_code.unwrap_or(status);
    let parameters = envelope.parameters.unwrap_or_default();
    if let Some(chat) = parameters.migrate_to_chat_id {
        return Err(Refusal::Moved(chat));
    }
    let text = envelope
        .description
        .unwrap_or_else(|| format!("Telegram answered {code}"));
    Err(Refusal::Failed(match code {
        429 => PluginError::Throttled(parameters.retry_after.map(|pause| pause.min(MAX_PAUSE) as u32)),
        // A token of the right form that no bot has is "Not Found".
        401 | 404 => PluginError::Auth(text),
        400 if text.contains("chat not found") => PluginError::NotFound("the chat".to_owned()),
        500.. => PluginError::Unreachable(text),
        // 403: the bot was blocked, or is no member any more.
        _ => PluginError::Rejected(text),
    }))
}

/// Name of the bot, from the result of `getMe`.
pub fn username(me: &Value) -> Option<&str> {
    me.get("username")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty())
}

/// A chat that a code came from.
#[derive(Debug, PartialEq, Eq)]
pub struct Chat {
    pub id: i64,
    /// Label shown to the owner: the name of the other person, or the kind of chat.
    pub label: String,
}

/// Chat of the newest message whose first word of six digits is `code`, among the results of `getUpdates`.
pub fn sender(updates: &Value, code: &str) -> Option<Chat> {
    let updates = updates.as_array()?;
    updates.iter().rev().find_map(|update| {
        let message = update.get("message")?;
        if first_code(message.get("text")?.as_str()?)? != code {
            return None;
        }
        let chat = message.get("chat")?;
        let label = match chat.get("username").and_then(Value::as_str) {
            Some(name) if !name.is_empty() => format!("@{name}"),
            _ if chat.get("type").and_then(Value::as_str) == Some("private") => "Telegram chat".to_owned(),
            _ => "Telegram group".to_owned(),
        };
        Some(Chat {
            id: chat.get("id")?.as_i64()?,
            label,
        })
    })
}

/// The first word of six digits.
fn first_code(text: &str) -> Option<&str> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.split(|letter| !is_part(letter))
        .find(|word| word.len() == 6 && word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The number of a chat, as it was kept.
pub fn chat(state: &str) -> Result<i64, PluginError> {
    state
        .parse()
        .map_err(|_| PluginError::InvalidConfig("no chat is linked".to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_are_nothing_but_tokens() {
        assert_eq!(token(Some("123456:ABC-DEF_ghi")), Ok("123456:ABC-DEF_ghi"));
        assert_eq!(
            token(None),
            Err(PluginError::InvalidConfig("A bot token is required.".to_owned()))
        );
        let long = format!("1:{}", "a".repeat(255));
        for bad in [
            "x", "1:", ":a", "1:a/../b", "1:a?x", "a1:b", "1:a b", "1:ä", "1:a:b", &long,
        ] {
            let refused = token(Some(bad));
            assert!(
                matches!(&refused, Err(PluginError::InvalidConfig(text)) if bad.len() < 4 || !text.contains(bad)),
                "{bad}: {refused:?}"
            );
        }
    }

    #[test]
    fn answers_are_told_apart() {
        let of = |status, body: Value| result(status, body.to_string().as_bytes());
        let failed = |error| Err(Refusal::Failed(error));
        assert_eq!(
            of(200, json!({ "ok": true, "result": { "message_id": 5 } })),
            Ok(json!({ "message_id": 5 }))
        );
        assert_eq!(
            of(
                429,
                json!({ "ok": false, "error_code": 429, "description": "Too Many Requests: retry after 7",
                "parameters": { "retry_after": 7 } })
            ),
            failed(PluginError::Throttled(Some(7)))
        );
        assert_eq!(
            of(
                429,
                json!({ "ok": false, "parameters": { "retry_after": u64::MAX } })
            ),
            failed(PluginError::Throttled(Some(86_400)))
        );
        let blocked = "Forbidden: bot was blocked by the user";
        assert_eq!(
            of(
                403,
                json!({ "ok": false, "error_code": 403, "description": blocked })
            ),
            failed(PluginError::Rejected(blocked.to_owned()))
        );
        for (code, text) in [(401, "Unauthorized"), (404, "Not Found")] {
            assert_eq!(
                of(
                    code,
                    json!({ "ok": false, "error_code": code, "description": text })
                ),
                failed(PluginError::Auth(text.to_owned()))
            );
        }
        assert_eq!(
            of(
                400,
                json!({ "ok": false, "error_code": 400, "description": "Bad Request: chat not found" })
            ),
            failed(PluginError::NotFound("the chat".to_owned()))
        );
        let wrong = "Bad Request: can't parse entities";
        assert_eq!(
            of(
                400,
                json!({ "ok": false, "error_code": 400, "description": wrong })
            ),
            failed(PluginError::Rejected(wrong.to_owned()))
        );
        assert_eq!(
            of(
                400,
                json!({ "ok": false, "error_code": 400, "parameters": { "migrate_to_chat_id": -100 } })
            ),
            Err(Refusal::Moved(-100))
        );
        assert!(matches!(
            result(502, b"<html>"),
            Err(Refusal::Failed(PluginError::Unreachable(_)))
        ));
        assert!(matches!(
            result(200, b"<html>"),
            Err(Refusal::Failed(PluginError::Protocol(_)))
        ));
        assert_eq!(result(429, b""), failed(PluginError::Throttled(None)));
    }

    fn update(id: i64, text: &str, chat: Value) -> Value {
        json!({ "update_id": id, "message": { "message_id": id, "text": text, "chat": chat } })
    }

    #[test]
    fn the_newest_chat_that_sent_the_code_is_found() {
        let private = |id: i64, name: Option<&str>| json!({ "id": id, "type": "private", "username": name });
        let updates = json!([
            update(1, "482913", private(1, Some("old"))),
            update(2, "my code is 482913, thanks", private(2, Some("jo"))),
            update(3, "1482913 4829133 x482913", private(3, None)),
            update(4, "111111 482913", private(4, None)),
            { "update_id": 5, "message": { "photo": [], "chat": private(5, None) } },
            { "update_id": 6, "edited_message": { "text": "482913", "chat": private(6, None) } },
        ]);
        let found = sender(&updates, "482913");
        assert_eq!(
            found,
            Some(Chat {
                id: 2,
                label: "@jo".to_owned()
            })
        );
        assert_eq!(sender(&updates, "000000"), None);
        assert_eq!(sender(&json!({}), "482913"), None);
        for (chat, label) in [
            (
                json!({ "id": -7, "type": "group", "title": "Family" }),
                "Telegram group",
            ),
            (
                json!({ "id": 7, "type": "private", "first_name": "Jo" }),
                "Telegram chat",
            ),
        ] {
            let found = sender(&json!([update(1, "/link@bot 482913", chat)]), "482913");
            assert_eq!(found.map(|chat| chat.label).as_deref(), Some(label));
        }
    }
}
