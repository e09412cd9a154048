//! One request and its answer as they stand in a file of `tests/recorded`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use webapi_core::Request;

use super::http::Whole;

/// Stands for the client's address in a record.
const BASE: &str = "http://client.test";

#[derive(Clone, Debug)]
pub struct Exchange {
    method: String,
    /// After the base address.
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    answer: Whole,
}

impl Exchange {
    pub fn record(request: &Request, answer: &Whole) -> Exchange {
        let base_end = request.url.find("/api/v2").unwrap_or(0);
        let (base, path) = request.url.split_at(base_end);
        let header = |(name, value): &(&str, String)| ((*name).to_owned(), value.replace(base, BASE));
        let mut answer = answer.clone();
        let told =
            |name: &str| name.eq_ignore_ascii_case("set-cookie") || name.eq_ignore_ascii_case("content-type");
        answer.headers.retain(|(name, _)| told(name));
        Exchange {
            method: request.method.into(),
            path: path.into(),
            headers: request.headers.iter().map(header).collect(),
            body: request.body.clone(),
            answer,
        }
    }

    /// Puts `to` where the client's own directory stood, so that a record is the same wherever it was made.
    pub fn scrub(&mut self, from: &str, to: &str) {
        let encode = |text: &str| text.replace('/', "%2F");
        for (from, to) in [(from.to_owned(), to.to_owned()), (encode(from), encode(to))] {
            self.path = self.path.replace(&from, &to);
            for bytes in [&mut self.body, &mut self.answer.body] {
                *bytes = replaced(bytes, from.as_bytes(), to.as_bytes());
            }
        }
    }

    pub fn label(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The recorded answer, to a request that must be the recorded one to the last byte.
    pub fn replay(self, request: &Request, base_url: &str) -> Whole {
        let path = request
            .url
            .strip_prefix(base_url)
            .expect("requests go to the base address");
        assert_eq!(format!("{} {path}", request.method), self.label());
        let header = |(name, value): &(&str, String)| ((*name).to_owned(), value.replace(base_url, BASE));
        let headers: Vec<_> = request.headers.iter().map(header).collect();
        assert_eq!(headers, self.headers, "headers of {}", self.label());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&request.body), text(&self.body), "body of {}", self.label());
        self.answer
    }

    pub fn to_json(&self) -> Value {
        json!({
            "request": {
                "method": self.method, "path": self.path, "headers": pairs(&self.headers), "body": bytes(&self.body),
            },
            "answer": {
                "status": self.answer.status, "headers": pairs(&self.answer.headers), "body": bytes(&self.answer.body),
            },
        })
    }

    pub fn from_json(value: &Value) -> Exchange {
        let (request, answer) = (&value["request"], &value["answer"]);
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        Exchange {
            method: text(&request["method"]),
            path: text(&request["path"]),
            headers: from_pairs(&request["headers"]),
            body: from_bytes(&request["body"]),
            answer: Whole {
                status: u16::try_from(answer["status"].as_u64().expect("a status")).expect("a status"),
                headers: from_pairs(&answer["headers"]),
                body: from_bytes(&answer["body"]),
            },
        }
    }
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

fn pairs(headers: &[(String, String)]) -> Value {
    Value::Array(headers.iter().map(|(name, value)| json!([name, value])).collect())
}

fn from_pairs(value: &Value) -> Vec<(String, String)> {
    let pair = |pair: &Value| {
        (
            pair[0].as_str().expect("a name").into(),
            pair[1].as_str().expect("a value").into(),
        )
    };
    value.as_array().expect("headers").iter().map(pair).collect()
}

/// JSON as JSON, text as text, the rest in base64.
fn bytes(body: &[u8]) -> Value {
    let wrapped = |name: &str, value: Value| Value::Object(Map::from_iter([(name.to_owned(), value)]));
    match (serde_json::from_slice::<Value>(body), std::str::from_utf8(body)) {
        (Ok(value @ (Value::Object(_) | Value::Array(_))), _) => wrapped("json", value),
        (_, Ok(text)) => Value::String(text.into()),
        _ => wrapped("base64", Value::String(STANDARD.encode(body))),
    }
}

fn from_bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.clone().into_bytes(),
        Value::Object(object) => match (object.get("json"), object.get("base64")) {
            (Some(json), _) => json.to_string().into_bytes(),
            (_, Some(text)) => STANDARD.decode(text.as_str().expect("base64")).expect("base64"),
            _ => panic!("a body is a text, json or base64"),
        },
        _ => panic!("a body is a text, json or base64"),
    }
}
