//! Output of the real binary on standard error.

use std::fs::File;

use serde_json::Value;

use crate::place::Place;

/// Every line of the file as JSON; one that is none fails the test.
fn lines(text: &str) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(parse).collect()
}

fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let line = answer.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in {answer}"))
}

#[test]
fn in_json_every_line_is_an_object_and_names_its_request() {
    let place = Place::new();
    std::fs::write(place.path("plugins/broken.wasm"), b"no component\nat all").expect("written");
    let log = File::create(place.path("log")).expect("made");
    let variables = [("LOG_FORMAT", "json"), ("RUST_LOG", "debug")];
    let server = place.serve_logging_to(&variables, log);
    let missing = server.get("/api/nope");
    let id = header(&missing, "x-request-id: ");
    server.get("/api/system/health");
    server.post(
        "/api/auth/login",
        r#"{"username":"nobody","password":"wrong password"}"#,
    );
    server.post("/api/auth/login", "{ no JSON\n");
    let (status, _) = server.stop("-TERM");
    assert!(status.success());

    let text = std::fs::read_to_string(place.path("log")).expect("readable");
    let lines = lines(&text);
    for line in &lines {
        for name in ["timestamp", "level", "target", "message"] {
            assert!(line[name].is_string(), "{name} of {line}");
        }
        let flat = line.as_object().expect("an object").values();
        assert!(
            flat.into_iter()
                .all(|value| !value.is_object() && !value.is_array()),
            "{line}"
        );
    }
    let access = |line: &&Value| line["target"] == "access" && line["request.id"] == id;
    let answered = lines
        .iter()
        .find(access)
        .unwrap_or_else(|| panic!("no line for {id} in {text}"));
    assert_eq!(
        (&answered["status"], &answered["http.method"]),
        (&Value::from(404), &Value::from("GET"))
    );
    assert!(answered["ms"].as_f64().is_some_and(|ms| ms >= 0.0), "{answered}");
    assert!(
        lines.iter().any(|line| line["message"]
            .as_str()
            .is_some_and(|text| text.contains("broken"))
            || line.to_string().contains("broken.wasm")),
        "the broken plugin is told of: {text}"
    );
    let of_requests = lines.iter().filter(|line| line["http.method"].is_string());
    assert!(of_requests.clone().count() >= 4, "{text}");
    assert!(
        of_requests
            .into_iter()
            .all(|line| line["request.id"].as_str().is_some_and(|id| id.len() == 16))
    );
    assert!(!text.contains("wrong password"), "a password is in the log");
}

#[test]
fn a_request_is_named_even_where_only_warnings_are_logged() {
    let place = Place::new();
    let log = File::create(place.path("log")).expect("made");
    let variables = [("LOG_FORMAT", "json"), ("RUST_LOG", "off,access=debug")];
    let server = place.serve_logging_to(&variables, log);
    let answer = server.get("/api/system/live");
    let (status, _) = server.stop("-TERM");
    assert!(status.success());
    let text = std::fs::read_to_string(place.path("log")).expect("readable");
    let lines = lines(&text);
    assert_eq!(lines.len(), 1, "{text}");
    assert_eq!(lines[0]["request.id"], header(&answer, "x-request-id: "));
    assert_eq!(lines[0]["http.route"], "/api/system/live");
}

#[test]
fn a_failed_start_is_one_object_in_json_too() {
    let place = Place::new();
    let output = place.run(&[], &[("LOG_FORMAT", "json"), ("PORT", "many")]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    let lines = lines(&text);
    assert_eq!(lines.len(), 1, "{text}");
    assert_eq!(lines[0]["level"], "ERROR");
    assert!(
        lines[0]["message"]
            .as_str()
            .is_some_and(|message| message.starts_with("PORT is `many`")),
        "{text}"
    );
}
