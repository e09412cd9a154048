//! Incoming webhooks of Discord: which URLs are some, what they are called, what an answer means. No bindings, so it is
//! tested natively.

use sdk_channel::PluginError;
use serde_json::Value;

/// Hosts that webhooks are on.
pub const HOSTS: [&str; 4] = [
    "discord.com",
    "discordapp.com",
    "canary.discord.com",
    "ptb.discord.com",
];
/// Characters of a URL.
const MAX_URL: usize = 2048;
/// The longest pause that is handed on, in seconds.
const MAX_PAUSE: f64 = 86_400.0;

/// A webhook. Whoever has its URL can write there: only its id is ever shown, and of that the end.
pub struct Hook {
    pub url: String,
    pub id: String,
}

impl Hook {
    /// Reads what a person entered. The error says what is wrong, and repeats nothing of it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.is_empty() {
            return Err("a webhook URL is required");
        }
        if text.chars().count() > MAX_URL || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the webhook URL makes no sense");
        }
        let (scheme, rest) = text.split_once("://").ok_or("the webhook URL makes no sense")?;
        if !scheme.eq_ignore_ascii_case("https") {
            return Err("the webhook URL must begin with https://");
        }
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err("the webhook URL must hold no user name");
        }
        let (host, port) = authority.split_once(':').unwrap_or((authority, "443"));
        if port != "443" {
            return Err("the webhook URL must have no port but 443");
        }
        let host = host.to_ascii_lowercase();
        if !HOSTS.contains(&&*host) {
            return Err("the webhook URL must lead to discord.com");
        }
        let path = path.split(['?', '#']).next().unwrap_or_default();
        Self::of_path(&host, path)
            .ok_or("the webhook URL must look like https://discord.com/api/webhooks/<number>/<token>")
    }

    /// `/api/[vN/]webhooks/<digits>/<token>[/]`
    fn of_path(host: &str, path: &str) -> Option<Self> {
        let path = path.strip_suffix('/').unwrap_or(path);
        let mut parts: Vec<&str> = path.strip_prefix("/api/")?.split('/').collect();
        let is_version = |part: &str| part.strip_prefix('v').is_some_and(is_number);
        let version = if is_version(parts.first()?) {
            format!("{}/", parts.remove(0))
        } else {
            String::new()
        };
        let [word, id, token] = parts[..] else {
            return None;
        };
        let is_token = !token.is_empty()
            && token
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        (word == "webhooks" && is_number(id) && is_token).then(|| Self {
            url: format!("https://{host}/api/{version}webhooks/{id}/{token}"),
            id: id.to_owned(),
        })
    }

    /// Label shown to its owner: `#alerts (…4711)`.
    pub fn label(&self, name: Option<&str>) -> String {
        let end = &self.id[self.id.len().saturating_sub(4)..];
        match name.map(str::trim).filter(|name| !name.is_empty()) {
            Some(name) => format!("#{name} (…{end})"),
            None => format!("Webhook …{end}"),
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Error for an answer that is no success. `retry_after` is the header of that name, in seconds.
pub fn failure(status: u16, retry_after: Option<&str>, body: &[u8]) -> PluginError {
    let said: Option<Value> = serde_json::from_slice(body).ok();
    let member = |name: &str| said.as_ref().and_then(|said| said.get(name));
    let text = member("message").and_then(Value::as_str).map_or_else(
        || format!("Discord answered {status}"),
        |message| format!("Discord answered {status}: {message}"),
    );
    match status {
        429 => {
            let told = member("retry_after").and_then(Value::as_f64);
            let header = retry_after.and_then(|text| text.trim().parse().ok());
            // The longer one: a fraction in the body, whole seconds in the header.
            let pause = told
                .into_iter()
                .chain(header)
                .fold(None, |longest: Option<f64>, next| {
                    Some(longest.map_or(next, |longest| longest.max(next)))
                });
            PluginError::Throttled(pause.map(|seconds| seconds.clamp(0.0, MAX_PAUSE).ceil() as u32))
        }
        404 => PluginError::NotFound("the webhook: it was deleted".to_owned()),
        401 | 403 => PluginError::Auth(text),
        300..=399 => PluginError::Rejected("Discord sent a redirect, which is not followed".to_owned()),
        500.. => PluginError::Unreachable(text),
        _ => PluginError::Rejected(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhooks_of_discord_are_told_from_other_urls() {
        for (text, url) in [
            (
                " https://discord.com/api/webhooks/123/aB_-9 ",
                "https://discord.com/api/webhooks/123/aB_-9",
            ),
            (
                "HTTPS://Canary.Discord.com:443/api/v10/webhooks/1/x/?wait=1#y",
                "https://canary.discord.com/api/v10/webhooks/1/x",
            ),
            (
                "https://ptb.discord.com/api/webhooks/1/x",
                "https://ptb.discord.com/api/webhooks/1/x",
            ),
            (
                "https://discordapp.com/api/webhooks/1/x",
                "https://discordapp.com/api/webhooks/1/x",
            ),
        ] {
            assert_eq!(
                Hook::parse(text).map(|hook| hook.url).as_deref(),
                Ok(url),
                "{text}"
            );
        }
        for (text, word) in [
            ("", "required"),
            ("discord.com/api/webhooks/1/x", "no sense"),
            ("https://discord.com/api/web hooks/1/x", "no sense"),
            ("http://discord.com/api/webhooks/1/x", "https"),
            ("https://user:pw@discord.com/api/webhooks/1/x", "user name"),
            ("https://discord.com@evil.example/api/webhooks/1/x", "user name"),
            ("https://discord.com:8443/api/webhooks/1/x", "port"),
            ("https://evil.example/api/webhooks/1/x", "discord.com"),
            ("https://discord.com.evil.example/api/webhooks/1/x", "discord.com"),
            ("https://discord.com\\.evil.example/api/webhooks/1/x", "look like"),
            ("https://discord.com/webhooks/1/x", "look like"),
            ("https://discord.com/api/webhooks/1x/x", "look like"),
            ("https://discord.com/api/webhooks/1/", "look like"),
            ("https://discord.com/api/webhooks/1/x/messages", "look like"),
            ("https://discord.com/api/v/webhooks/1/x", "look like"),
            ("https://discord.com/api/webhooks/1/../x", "look like"),
            ("https://discord.com/api/webhooks/1/%2e%2e", "look like"),
        ] {
            let refused = Hook::parse(text).err();
            assert!(
                refused.is_some_and(|error| error.contains(word)),
                "{text}: {refused:?}"
            );
        }
    }

    #[test]
    fn a_label_tells_no_secret() {
        let hook = Hook::parse("https://discord.com/api/webhooks/1234567/hidden-token");
        let label = |name| hook.as_ref().map(|hook| hook.label(name)).unwrap_or_default();
        assert_eq!(label(Some("alerts")), "#alerts (…4567)");
        assert_eq!(label(Some(" ")), "Webhook …4567");
        assert_eq!(label(None), "Webhook …4567");
    }

    #[test]
    fn failures_are_told_apart() {
        let limited = br#"{"message":"You are being rate limited.","retry_after":0.529,"global":false}"#;
        let of = |status, header, body: &[u8]| failure(status, header, body);
        assert_eq!(of(429, None, limited), PluginError::Throttled(Some(1)));
        assert_eq!(of(429, Some("3"), limited), PluginError::Throttled(Some(3)));
        assert_eq!(of(429, Some("120"), b"<html>"), PluginError::Throttled(Some(120)));
        assert_eq!(of(429, None, b""), PluginError::Throttled(None));
        assert_eq!(
            of(429, None, br#"{"retry_after":1e300}"#),
            PluginError::Throttled(Some(86_400))
        );
        assert_eq!(
            of(429, None, br#"{"retry_after":-5}"#),
            PluginError::Throttled(Some(0))
        );
        let unknown = br#"{"message": "Unknown Webhook", "code": 10015}"#;
        assert!(matches!(of(404, None, unknown), PluginError::NotFound(_)));
        let invalid = br#"{"message": "Invalid Webhook Token", "code": 50027}"#;
        assert_eq!(
            of(401, None, invalid),
            PluginError::Auth("Discord answered 401: Invalid Webhook Token".to_owned())
        );
        assert_eq!(
            of(400, None, b"no json"),
            PluginError::Rejected("Discord answered 400".to_owned())
        );
        assert!(matches!(of(502, None, b""), PluginError::Unreachable(_)));
        assert!(matches!(of(302, None, b""), PluginError::Rejected(_)));
    }
}
