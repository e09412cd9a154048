//! Tests of validation: texts and order of the rules, coercion, queries and paging.

use serde_json::{Value, json};

use crate::support::server;

#[tokio::test]
async fn broken_rules_are_listed_together_and_in_order() {
    let server = server().await;
    for (body, expected) in [
        (
            json!({}),
            vec![
                "username must be shorter than or equal to 8 characters",
                "username must be a string",
                "password must be shorter than or equal to 8 characters",
                "password must be longer than or equal to 2 characters",
                "password must be a string",
            ],
        ),
        (
            json!({ "username": "123456789", "password": "1", "zeta": 1, "alpha": 2 }),
            vec![
                "property alpha should not exist",
                "property zeta should not exist",
                "username must be shorter than or equal to 8 characters",
                "password must be longer than or equal to 2 characters",
            ],
        ),
        (
            json!({ "username": null, "password": {} }),
            vec![
                "username must be shorter than or equal to 8 characters",
                "username must be a string",
                "password must be shorter than or equal to 8 characters",
                "password must be longer than or equal to 2 characters",
                "password must be a string",
            ],
        ),
    ] {
        let answer = server.post("/api/account", &body.to_string()).await;
        assert_eq!(
            answer.json(),
            json!({ "message": expected, "error": "Bad Request", "statusCode": 400, "code": "bad_request.rules" }),
            "{body}"
        );
    }
    let token = [("Authorization", "Bearer root")];
    let answer = server.ask("POST", "/api/strict", &token, b"{}").await;
    let expected = json!([
        "each value in hashes must be a string",
        "hashes must be an array",
        "index must not be less than 0",
        "index must be an integer number",
        "flag must be a boolean value",
        "config must be an object",
        "value should not be null or undefined",
    ]);
    assert_eq!(answer.json()["message"], expected);
}

/// One property in an otherwise valid body: its value in the answer, or the violated rules.
async fn check(cases: Vec<(&str, Value, Result<Value, Vec<&str>>)>) {
    let server = server().await;
    for (name, value, expected) in cases {
        let mut body = json!({ "username": "a", "password": "ab" });
        body[name] = value.clone();
        let answer = server.post("/api/account", &body.to_string()).await;
        match expected {
            Ok(expected) => {
                assert_eq!(answer.status, 201, "{name} {value}: {answer:?}");
                assert_eq!(answer.json()[name], expected, "{name} {value}");
            }
            Err(messages) => assert_eq!(answer.json()["message"], json!(messages), "{name} {value}"),
        }
    }
}

#[tokio::test]
async fn scalars_one_at_a_time() {
    check(vec![
        (
            "totp",
            json!("12345"),
            Err(vec!["totp must be shorter than or equal to 4 characters"]),
        ),
        ("totp", json!(1234), Ok(json!("1234"))),
        ("totp", json!("äöüß"), Ok(json!("äöüß"))),
        ("totp", json!(null), Ok(json!(null))),
        (
            "totp",
            json!(false),
            Err(vec![
                "totp must be shorter than or equal to 4 characters",
                "totp must be a string",
            ]),
        ),
        (
            "totp",
            json!([]),
            Err(vec![
                "totp must be shorter than or equal to 4 characters",
                "totp must be a string",
            ]),
        ),
        ("age", json!("5"), Ok(json!(5))),
        ("age", json!(" 7 "), Ok(json!(7))),
        ("age", json!(5.0), Ok(json!(5))),
        ("age", json!(-1), Err(vec!["age must not be less than 0"])),
        ("age", json!(100), Err(vec!["age must not be greater than 99"])),
        (
            "age",
            json!(1.5),
            Err(vec![
                "age must not be greater than 99",
                "age must not be less than 0",
                "age must be an integer number",
            ]),
        ),
        (
            "age",
            json!("ten"),
            Err(vec![
                "age must not be greater than 99",
                "age must not be less than 0",
                "age must be an integer number",
            ]),
        ),
        ("share", json!("0.5"), Ok(json!(0.5))),
        ("share", json!(-0.5), Err(vec!["share must not be less than 0"])),
        ("active", json!(true), Ok(json!(true))),
        ("active", json!("false"), Ok(json!(false))),
        ("active", json!(1), Ok(json!(true))),
        (
            "active",
            json!("yes"),
            Err(vec!["active must be a boolean value"]),
        ),
        ("role", json!("b"), Ok(json!("b"))),
        (
            "role",
            json!("c"),
            Err(vec!["role must be one of the following values: a, b"]),
        ),
    ])
    .await;
}

#[tokio::test]
async fn addresses_lists_and_objects_one_at_a_time() {
    check(vec![
        ("mail", json!("a.b+c@example.org"), Ok(json!("a.b+c@example.org"))),
        ("mail", json!("nobody"), Err(vec!["mail must be an email"])),
        ("mail", json!("a@b"), Err(vec!["mail must be an email"])),
        (
            "mail",
            json!("a@b@example.org"),
            Err(vec!["mail must be an email"]),
        ),
        (
            "mail",
            json!("a b@example.org"),
            Err(vec!["mail must be an email"]),
        ),
        (
            "mail",
            json!("a@example.org\r\nBcc: x@y.zz"),
            Err(vec!["mail must be an email"]),
        ),
        ("mail", json!("a@-x.org"), Err(vec!["mail must be an email"])),
        ("tags", json!(["a", 5]), Ok(json!(["a", "5"]))),
        ("tags", json!([]), Ok(json!([]))),
        (
            "tags",
            json!(["a", {}]),
            Err(vec![
                "each value in tags must be shorter than or equal to 5 characters",
                "tags must contain no more than 3 elements",
                "each value in tags must be a string",
            ]),
        ),
        (
            "tags",
            json!(["a", "b", "c", "d"]),
            Err(vec!["tags must contain no more than 3 elements"]),
        ),
        (
            "tags",
            json!(["123456"]),
            Err(vec![
                "each value in tags must be shorter than or equal to 5 characters",
            ]),
        ),
        ("config", json!({ "a": [1] }), Ok(json!({ "a": [1] }))),
        ("config", json!([1]), Err(vec!["config must be an object"])),
        ("config", json!("{}"), Err(vec!["config must be an object"])),
        ("value", json!([{ "deep": null }]), Ok(json!([{ "deep": null }]))),
        ("value", json!(false), Ok(json!(false))),
    ])
    .await;
}

#[tokio::test]
async fn what_is_no_json_object_is_refused() {
    let server = server().await;
    for (body, message) in [
        ("{not json", "key must be a string at line 1 column 2"),
        ("{\"a\":1", "EOF while parsing an object at line 1 column 6"),
        (
            "{\"a\":0,\"b\":[\"\\ud800\"]}",
            "unexpected end of hex escape at line 1 column 20",
        ),
        ("{\"a\":1}{}", "trailing characters at line 1 column 8"),
        ("[]", "The body must be a JSON object"),
        ("5", "The body must be a JSON object"),
        ("null", "The body must be a JSON object"),
    ] {
        let answer = server.post("/api/account", body).await;
        let expected = json!({ "message": message, "error": "Bad Request", "statusCode": 400, "code": "bad_request.json" });
        assert_eq!(answer.json(), expected, "{body}");
    }
    let deep = format!("{{\"value\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
    assert_eq!(server.post("/api/account", &deep).await.status, 400);
    let text = [("Content-Type", "text/plain")];
    let answer = server
        .ask(
            "POST",
            "/api/account",
            &text,
            br#"{"username":"a","password":"ab"}"#,
        )
        .await;
    let expected = json!({
        "message": "A body of the type \"text/plain\" cannot be read here: send application/json or application/x-www-form-urlencoded",
        "error": "Unsupported Media Type", "statusCode": 415, "code": "unsupported_media_type",
    });
    assert_eq!((answer.status, answer.json()), (415, expected));
    let answer = server
        .ask(
            "POST",
            "/api/account",
            &[],
            br#"{"username":"a","password":"ab"}"#,
        )
        .await;
    assert_eq!(answer.status, 201, "no label is taken as JSON");
}

#[tokio::test]
async fn forms_are_bodies_too() {
    let server = server().await;
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let body = b"username=a+b&password=%C3%A4%C3%B6&tags=x&tags=y&active=0&age=5";
    let answer = server.ask("POST", "/api/account", &form, body).await.json();
    assert_eq!(
        (&answer["username"], &answer["password"]),
        (&json!("a b"), &json!("äö"))
    );
    assert_eq!(
        (&answer["tags"], &answer["active"]),
        (&json!(["x", "y"]), &json!(false))
    );
    let answer = server
        .ask("POST", "/api/account", &form, b"username=a&password=ab&other=1")
        .await;
    assert_eq!(
        answer.json()["message"],
        json!(["property other should not exist"])
    );
}

#[tokio::test]
async fn a_loosely_declared_body_takes_any_key() {
    let server = server().await;
    let body = json!({ "files.trashRetentionDays": 3, "any": { "thing": null } });
    let answer = server
        .ask("PATCH", "/api/loose", &[], body.to_string().as_bytes())
        .await;
    assert_eq!((answer.status, answer.json()), (200, body));
}

#[tokio::test]
async fn bodies_end_at_the_limit_of_their_line() {
    let server = server().await;
    let of = |size: usize| format!("{{\"value\":\"{}\"}}", "x".repeat(size - 12));
    let token = [("Authorization", "Bearer nobody")];
    let too_large = r#"{"message":"The uploaded file is too large for this endpoint.","statusCode":413,"code":"payload_too_large"}"#;
    for (target, limit) in [
        ("/api/account", 16 * 1024),
        ("/api/large", 1024 * 1024),
        ("/api/upload", 25 * 1024 * 1024),
    ] {
        for form in [false, true] {
            let kind = if form {
                "application/x-www-form-urlencoded"
            } else {
                "application/json"
            };
            let headers = [("Content-Type", kind), token[0]];
            let fits = server.ask("POST", target, &headers, of(limit).as_bytes()).await;
            assert_eq!(fits.status, 400, "{target}: {}", fits.body);
            let answer = server
                .ask("POST", target, &headers, of(limit + 1).as_bytes())
                .await;
            assert_eq!(
                (answer.status, answer.body.as_str()),
                (413, too_large),
                "{target}"
            );
        }
    }
}

#[tokio::test]
async fn a_body_is_needed_where_a_route_reads_one() {
    let server = server().await;
    let expected = json!({
        "message": "A request body is required", "error": "Bad Request", "statusCode": 400,
        "code": "bad_request.no_body",
    });
    for headers in [
        &[][..],
        &[("Content-Type", "application/json")],
        &[("Content-Type", "text/plain")],
    ] {
        let answer = server.ask("POST", "/api/account", headers, b"").await;
        assert_eq!(
            (answer.status, answer.json()),
            (400, expected.clone()),
            "{headers:?}"
        );
    }
}

#[tokio::test]
async fn what_is_given_twice_is_refused() {
    let server = server().await;
    let twice = json!(["property username should not be given twice"]);
    let body = r#"{"username":"a","password":"ab","user\u006eame":"b"}"#;
    assert_eq!(server.post("/api/account", body).await.json()["message"], twice);
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let body = b"username=a&password=ab&username=b";
    let answer = server.ask("POST", "/api/account", &form, body).await;
    assert_eq!(answer.json()["message"][0], twice[0]);
    let answer = server.get("/api/things?limit=5&limit=6").await;
    assert_eq!(
        answer.json()["message"],
        json!(["property limit should not be given twice"])
    );
    let body = r#"{"username":"a","password":"ab","config":{"a":1,"a":2}}"#;
    assert_eq!(
        server.post("/api/account", body).await.json()["message"],
        json!(["config must not hold a name twice"])
    );
}

#[tokio::test]
async fn queries_are_clamped_or_validated() {
    let server = server().await;
    let page =
        |page: u64, size: u64| json!({ "page": page, "page_size": size, "search": null, "limit": null });
    for (query, expected) in [
        ("", Ok(page(1, 50))),
        ("?page=3&pageSize=10", Ok(page(3, 10))),
        ("?page=0&pageSize=0", Ok(page(1, 1))),
        ("?page=-5&pageSize=9999", Ok(page(1, 500))),
        ("?page=x&pageSize=y", Ok(page(1, 50))),
        ("?page=99999999999999999999", Ok(page(2_147_483_647, 50))),
        ("?unknown=1", Err(json!(["property unknown should not exist"]))),
        ("?limit=-1", Err(json!(["limit must not be less than 1"]))),
        (
            "?search=a%20b&limit=5",
            Ok(json!({ "page": 1, "page_size": 50, "search": "a b", "limit": 5 })),
        ),
        (
            "?search=%FF%00",
            Ok(json!({ "page": 1, "page_size": 50, "search": "\u{FFFD}\0", "limit": null })),
        ),
        ("?limit=0", Err(json!(["limit must not be less than 1"]))),
        (
            "?limit=x",
            Err(json!([
                "limit must not be less than 1",
                "limit must be an integer number"
            ])),
        ),
        (
            "?search=12345678901",
            Err(json!(["search must be shorter than or equal to 10 characters"])),
        ),
    ] {
        let answer = server.get(&format!("/api/things{query}")).await;
        match expected {
            Ok(expected) => assert_eq!(answer.json(), expected, "{query}"),
            Err(messages) => assert_eq!(answer.json()["message"], messages, "{query}"),
        }
    }
}

#[tokio::test]
async fn many_unknown_keys_make_a_short_answer() {
    let server = server().await;
    let of = |count: usize| {
        let keys: String = (0..count).map(|number| format!(",\"k{number}\":0")).collect();
        format!("{{\"username\":\"a\",\"password\":\"ab\"{keys}}}")
    };
    let answer = server.post_as("nobody", "/api/large", &of(1000)).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["message"].as_array().map(Vec::len), Some(100));
    let answer = server.post_as("nobody", "/api/large", &of(50_000)).await.json();
    assert_eq!(
        answer["message"],
        "The body has 50002 properties: send no more than 1024"
    );
    let long = format!("{{\"{}\":1}}", "ä".repeat(100_000));
    let answer: Value = server.post_as("nobody", "/api/large", &long).await.json();
    assert!(answer["message"][0].as_str().unwrap().len() < 200);
}
