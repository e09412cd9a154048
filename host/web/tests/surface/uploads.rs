//! Tests of multipart bodies.

use serde_json::json;

use crate::support::{Answer, Server, server};

const TOKEN: (&str, &str) = ("Authorization", "Bearer nobody");
const BOUNDARY: &str = "----boundary";

fn part(name: &str, file: Option<&str>, content: &[u8]) -> Vec<u8> {
    let file = file
        .map(|file| format!("; filename=\"{file}\""))
        .unwrap_or_default();
    let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
    [head.as_bytes(), content, b"\r\n"].concat()
}

async fn upload(server: &Server, parts: &[Vec<u8>]) -> Answer {
    let body = [parts.concat(), format!("--{BOUNDARY}--\r\n").into_bytes()].concat();
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    server
        .ask("POST", "/api/upload", &[("Content-Type", &kind), TOKEN], &body)
        .await
}

fn needed() -> Vec<u8> {
    [part("username", None, b"a"), part("password", None, b"ab")].concat()
}

#[tokio::test]
async fn fields_are_texts_and_the_file_is_a_file() {
    let server = server().await;
    let answer = upload(
        &server,
        &[
            needed(),
            part("active", None, b"false"),
            part("age", None, b"5"),
            part("tags", None, b"x, y,,z"),
            part("file", Some("a.torrent"), b"d4:infoe"),
        ],
    )
    .await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["file"], json!({ "name": "a.torrent", "size": 8 }));
    let fields = &answer["fields"];
    assert_eq!((&fields["active"], &fields["age"]), (&json!(false), &json!(5)));
    assert_eq!(fields["tags"], json!(["x", "y", "z"]), "one text with commas");

    for (text, expected) in [
        ("true", json!(true)),
        ("1", json!(true)),
        ("0", json!(false)),
        ("", json!(false)),
    ] {
        let answer = upload(&server, &[needed(), part("active", None, text.as_bytes())])
            .await
            .json();
        assert_eq!(answer["fields"]["active"], expected, "{text:?}");
        assert_eq!(answer["file"], json!(null));
    }
    let answer = upload(
        &server,
        &[needed(), part("tags", None, b"x,1"), part("tags[]", None, b"y")],
    )
    .await
    .json();
    assert_eq!(answer["fields"]["tags"], json!(["x,1", "y"]), "a repeated name");
}

#[tokio::test]
async fn what_an_upload_may_not_hold() {
    let server = server().await;
    let file = |name: &str, size: usize| part(name, Some("f"), &vec![b'x'; size]);
    let message = |text: &str, error: &str, status: u16| {
        let code = if status == 413 {
            "payload_too_large.file"
        } else {
            "bad_request.multipart"
        };
        json!({ "message": text, "error": error, "statusCode": status, "code": code })
    };
    let unexpected = message("Unexpected field", "Bad Request", 400);
    for (parts, expected) in [
        (vec![needed(), file("other", 1)], unexpected.clone()),
        (vec![needed(), file("file", 1), file("file", 1)], unexpected),
        (
            vec![file("file", 20 * 1024 * 1024 + 1)],
            message("File too large", "Payload Too Large", 413),
        ),
        (
            vec![file("file", 60 * 1024 * 1024)],
            message("File too large", "Payload Too Large", 413),
        ),
        (
            vec![part("username", None, &vec![b'x'; 1024 * 1024 + 1])],
            message("Field value too long", "Bad Request", 400),
        ),
        (
            vec![part("username", None, b"x"); 101],
            message("Too many parts", "Bad Request", 400),
        ),
        (
            vec![part("username", None, &vec![b'x'; 1024 * 1024]); 30],
            json!({ "message": "The uploaded file is too large for this endpoint.", "statusCode": 413, "code": "payload_too_large" }),
        ),
    ] {
        assert_eq!(upload(&server, &parts).await.json(), expected);
    }
    let answer = upload(&server, &[needed(), file("file", 20 * 1024 * 1024)]).await;
    assert_eq!(answer.json()["file"]["size"], 20 * 1024 * 1024);
    let answer = upload(&server, &[needed(), part("other", None, b"x")]).await;
    assert_eq!(
        answer.json()["message"],
        json!(["property other should not exist"])
    );
}

#[tokio::test]
async fn a_broken_multipart_body_is_a_bad_request() {
    let server = server().await;
    for (kind, body) in [
        ("multipart/form-data", ""),
        ("multipart/form-data; boundary=x", "no boundary at all"),
        (
            "multipart/form-data; boundary=x",
            "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\ncut",
        ),
    ] {
        let answer = server
            .ask(
                "POST",
                "/api/upload",
                &[("Content-Type", kind), TOKEN],
                body.as_bytes(),
            )
            .await;
        assert_eq!(answer.json()["statusCode"], 400, "{kind} {body}");
    }
    let answer = server
        .post_as("nobody", "/api/upload", r#"{"username":"a","password":"ab"}"#)
        .await;
    assert_eq!(
        (answer.status, &answer.json()["file"]),
        (201, &json!(null)),
        "JSON is read without a file"
    );
}
