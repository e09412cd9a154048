//! Body of the request, and the meaning of an answer: no bindings, so it is tested natively.

use serde_json::Value;

/// JSON Schema of the parameters. Others than these are handed on with the body. The host fills the template and hands it over as
/// a document, whose texts no value can leave.
pub const PARAMS: &str = r#"{
  "type": "object",
  "required": ["url"],
  "properties": {"url": {"type": "string", "title": "URL", "format": "uri"},
    "bodyTemplate": {"type": ["object", "array", "string"], "title": "Body", "x-placeholders": "json",
      "description": "JSON to post in place of the torrent or event. Its texts may have {name}, {category}, {tag}, {trackerHost}, {year} and {hash}."}},
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
pub fn body(about: About, context: &str, params: &str) -> String {
    let template = serde_json::from_str::<Value>(params).ok();
    match template.as_ref().and_then(|params| params.get("bodyTemplate")) {
        None | Some(Value::Null) => {}
        Some(template) => return template.to_string(),
    }
    let name = match about {
        About::Torrent => "torrent",
        About::Event => "event",
    };
    format!(r#"{{"{name}":{context},"params":{params}}}"#)
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
            let body = body(about, r#"{"ratio":2.0,"size":18446744073709551615}"#, params);
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
            body(About::Torrent, r#"{"ratio":2.0}"#, params),
            r#"{"text":"\"Debian\" is complete"}"#
        );
        let without = r#"{"url":"https://hooks.example/x","bodyTemplate":null}"#;
        assert!(body(About::Event, "{}", without).starts_with(r#"{"event":{}"#));
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
