//! Body of the request, and the meaning of an answer: no bindings, so it is tested natively.

use serde_json::Value;

use crate::chats;

/// JSON Schema of the parameters. Others than these are handed on with the body. The host fills the template and hands it over as
/// a document, whose texts no value can leave.
pub const PARAMS: &str = r#"{
  "type": "object",
  "required": ["url"],
  "properties": {"url": {"type": "string", "title": "URL", "format": "uri"},
    "bodyTemplate": {"type": ["object", "array", "string"], "title": "Body", "x-placeholders": "json",
      "description": "JSON to post in place of the torrent or event. Its texts may have {name}, {category}, {tag}, {trackerHost}, {year} and {hash}."},
    "preset": {"type": "string", "title": "Chat", "enum": ["discord", "slack"],
      "description": "Posts the text as the incoming webhooks of this chat take it. Nothing in it mentions anybody, is a link or changes how it looks."},
    "text": {"type": "string", "title": "Text", "maxLength": 2000, "x-placeholders": "text",
      "description": "Text of the preset. May have {name}, {category}, {tag}, {trackerHost}, {year} and {hash}."}},
  "additionalProperties": true
}"#;

/// The member of the body that holds the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    Torrent,
    Event,
}

/// The URL among the parameters, a JSON object.
pub fn url(params: &str) -> Result<String, String> {
    let params: Value =
        serde_json::from_str(params).map_err(|error| format!("the parameters are no JSON: {error}"))?;
    match params.get("url").and_then(Value::as_str) {
        Some(url) if !url.trim().is_empty() => Ok(url.trim().to_owned()),
        _ => Err("url is required".to_owned()),
    }
}

/// The body. `context` and `params` are JSON and stay as they came: no number is read and written anew.
///
/// # Errors
/// A sentence about a preset that is unknown, or has no text or a template beside it.
pub fn body(about: About, context: &str, params: &str) -> Result<String, String> {
    let read = serde_json::from_str::<Value>(params).unwrap_or_default();
    let given = |name: &str| read.get(name).filter(|param| !param.is_null());
    match (given("preset"), given("bodyTemplate")) {
        (Some(_), Some(_)) => {
            return Err("preset and bodyTemplate are two bodies: give one of them".to_owned());
        }
        (Some(preset), None) => {
            let text = given("text").and_then(Value::as_str).unwrap_or_default();
            return chats::body(preset.as_str().unwrap_or_default(), text);
        }
        (None, Some(template)) => return Ok(template.to_string()),
        (None, None) => {}
    }
    let name = match about {
        About::Torrent => "torrent",
        About::Event => "event",
    };
    Ok(format!(r#"{{"{name}":{context},"params":{params}}}"#))
}

/// Result by HTTP status: success below 300; the text of the error else. The body of the answer does not count.
pub fn verdict(status: u16) -> Result<(), String> {
    match status {
        300..=399 => Err("redirects are not followed".to_owned()),
        400.. => Err(format!("Webhook responded {status}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_body_holds_the_context_and_all_parameters() {
        let params = r#"{"url":"https://hooks.example/x","note":"\u00e4"}"#;
        for (about, name) in [(About::Torrent, "torrent"), (About::Event, "event")] {
            let body =
                body(about, r#"{"ratio":2.0,"size":18446744073709551615}"#, params).unwrap_or_default();
            let read: Value = serde_json::from_str(&body).unwrap_or_default();
            assert_eq!(
                read["params"],
                json!({ "url": "https://hooks.example/x", "note": "\u{e4}" })
            );
            assert_eq!(read[name], json!({ "ratio": 2.0, "size": u64::MAX }));
            assert_eq!(read.as_object().map(serde_json::Map::len), Some(2));
        }
    }

    #[test]
    fn a_template_is_the_body() {
        let params = r#"{"url":"https://hooks.example/x","bodyTemplate":{"text":"\"Debian\" is complete"}}"#;
        assert_eq!(
            body(About::Torrent, r#"{"ratio":2.0}"#, params).as_deref(),
            Ok(r#"{"text":"\"Debian\" is complete"}"#)
        );
        let without = r#"{"url":"https://hooks.example/x","bodyTemplate":null}"#;
        assert!(body(About::Event, "{}", without).is_ok_and(|body| body.starts_with(r#"{"event":{}"#)));
    }

    #[test]
    fn a_preset_is_the_body() {
        let posted = |params: &str| body(About::Torrent, "{}", params);
        assert_eq!(
            posted(r#"{"url":"https://hooks.example/x","preset":"slack","text":"a & b"}"#).as_deref(),
            Ok(r#"{"mrkdwn":false,"text":"a &amp; b"}"#)
        );
        for (params, told) in [
            (
                r#"{"preset":"slack","bodyTemplate":{}}"#,
                "preset and bodyTemplate are two bodies",
            ),
            (r#"{"preset":"slack"}"#, "text is required with a preset"),
            (
                r#"{"preset":"slack","text":" "}"#,
                "text is required with a preset",
            ),
            (r#"{"preset":"irc","text":"a"}"#, "there is no preset \"irc\""),
            (r#"{"preset":5,"text":"a"}"#, "there is no preset"),
        ] {
            assert!(posted(params).is_err_and(|why| why.starts_with(told)), "{params}");
        }
    }

    #[test]
    fn a_url_is_needed() {
        assert_eq!(
            url(r#"{"url":" https://a.example/ "}"#).as_deref(),
            Ok("https://a.example/")
        );
        for params in ["{}", r#"{"url":""}"#, r#"{"url":3}"#, "[]"] {
            assert_eq!(url(params), Err("url is required".to_owned()), "{params}");
        }
        assert!(serde_json::from_str::<Value>(PARAMS).is_ok_and(|schema| schema["type"] == "object"));
    }

    #[test]
    fn a_status_from_300_on_is_a_failure() {
        for status in [100, 200, 204, 299] {
            assert_eq!(verdict(status), Ok(()));
        }
        for status in [400, 404, 500, 599] {
            assert_eq!(verdict(status), Err(format!("Webhook responded {status}")));
        }
        for status in [300, 302, 304] {
            assert!(verdict(status).is_err());
        }
    }
}
