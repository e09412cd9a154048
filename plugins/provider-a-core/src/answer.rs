//! Errors of TMDB's API, which also come with a status that says success.

use provider_model::json::{number, text};
use provider_model::{Answer, Fault, Product, document as any};
use serde_json::Value;

/// TMDB, as answers are read.
const TMDB: Product = Product {
    name: "TMDB",
    error: |document| document.get("status_message").map(|_| read_error(document)),
};

/// The document of an answer; `expected` names it, for people.
pub fn document(answer: Answer<'_>, expected: &str) -> Result<Value, Fault> {
    let document = any(TMDB, answer, expected)?;
    if document.get("success") == Some(&Value::Bool(false)) {
        let (code, description) = read_error(&document);
        return Err(match code.as_str() {
            "34" => Fault::NotFound(format!("TMDB does not know it ({description})")),
            _ => Fault::Api { code, description },
        });
    }
    Ok(document)
}

/// Code and description of an error of the API, as a line.
fn read_error(document: &Value) -> (String, String) {
    let code = number(document, "status_code").map_or_else(|| "error".to_owned(), |code| code.to_string());
    let words = text(document, "status_message").unwrap_or_else(|| "no description".to_owned());
    let words: Vec<&str> = words.split_whitespace().collect();
    (code, words.join(" ").chars().take(300).collect())
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
    fn an_error_is_one_whatever_the_status() {
        let unknown = r#"{"success":false,"status_code":34,"status_message":"The resource you requested could not be found."}"#;
        assert!(matches!(ask(404, unknown), Err(Fault::NotFound(_))));
        assert!(matches!(ask(200, unknown), Err(Fault::NotFound(_))));
        let page = r#"{"success":false,"status_code":22,"status_message":"Invalid\n page"}"#;
        let expected = Fault::Api {
            code: "22".to_owned(),
            description: "Invalid page".to_owned(),
        };
        assert_eq!(ask(422, page), Err(expected.clone()));
        assert_eq!(ask(200, page), Err(expected));
        let nameless = r#"{"success":false}"#;
        assert!(matches!(ask(200, nameless), Err(Fault::Api { code, .. }) if code == "error"));
        assert!(ask(200, r#"{"success":true,"status_code":1}"#).is_ok());
    }
}
