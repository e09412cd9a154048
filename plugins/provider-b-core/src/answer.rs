//! Errors of TheTVDB's API, and the data of an answer.

use provider_model::json::text;
use provider_model::{Answer, Fault, Product, document as any};
use serde_json::Value;

/// TheTVDB, as answers are read.
const TVDB: Product = Product {
    name: "TheTVDB",
    error: read_error,
};

/// The document of an answer, which has a member `data`; `expected` names it, for people.
pub fn document(answer: Answer<'_>, expected: &str) -> Result<Value, Fault> {
    let document = any(TVDB, answer, expected)?;
    if let Some((code, description)) = read_error(&document) {
        return Err(Fault::Api { code, description });
    }
    if document.get("data").is_none_or(Value::is_null) {
        return Err(other(expected));
    }
    Ok(document)
}

/// JSON of another form than documented.
pub fn other(expected: &str) -> Fault {
    Fault::Unparsable(format!(
        "TheTVDB answered other JSON where {expected} was expected"
    ))
}

/// An error: `{"status": "failure", "message": "…"}`. That of a gateway before it has a message alone.
fn read_error(document: &Value) -> Option<(String, String)> {
    let status = text(document, "status");
    if status.as_deref() == Some("success") || document.get("data").is_some_and(|data| !data.is_null()) {
        return None;
    }
    let message = text(document, "message");
    if status.is_none() && message.is_none() {
        return None;
    }
    Some((
        status.unwrap_or_else(|| "error".to_owned()),
        message.unwrap_or_else(|| "no description".to_owned()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(status: u16, body: &str) -> Result<Value, Fault> {
        let answer = Answer {
            status,
            retry_after: None,
            location: None,
            body: body.as_bytes(),
            now: 0,
        };
        document(answer, "a list of titles")
    }

    #[test]
    fn data_or_an_error() {
        assert!(ask(200, r#"{"status":"success","data":[]}"#).is_ok());
        let failure = r#"{"status":"failure","message":"InvalidValueType: id","data":null}"#;
        assert!(matches!(ask(404, failure), Err(Fault::NotFound(_))));
        assert!(matches!(ask(401, failure), Err(Fault::Auth(_))));
        assert_eq!(
            ask(400, failure),
            Err(Fault::Api {
                code: "failure".to_owned(),
                description: "InvalidValueType: id".to_owned()
            })
        );
        assert!(matches!(ask(200, failure), Err(Fault::Api { .. })));
        assert!(matches!(
            ask(401, r#"{"message":"Unauthorized"}"#),
            Err(Fault::Auth(why)) if why.contains("Unauthorized")
        ));
        for odd in [r#"{"status":"success"}"#, "{}", r#"{"data":null}"#] {
            assert!(matches!(ask(200, odd), Err(Fault::Unparsable(_))), "{odd}");
        }
    }
}
