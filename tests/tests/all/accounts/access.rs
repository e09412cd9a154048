//! Role × route: every operation of the served OpenAPI document, asked by each role and by everybody who is nobody.
//!
//! The document says what a route needs and the kernel's table says what a role holds; the two must agree with what the
//! server does. That both are what was agreed is the business of `agreed`.

use qm_kernel::Role;
use qm_test_base::engine::FakeKinds;
use qm_testkit::{Api, TestDb, TestServer, both_databases, token};
use serde_json::{Value, json};

use crate::document::{Operation, fresh, operations};

/// A public key as an attacker finds it on a server that signs with RS256: to a verifier that lets the token choose the
/// algorithm it is an HMAC key.
const PUBLIC_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf\n\
9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC9AIKjbJTWit+CqvjWYzvQwECAwEAAQ==\n\
-----END PUBLIC KEY-----\n";

/// Asks without a body. A caller who is let in gets a 400 or a 404 at worst, and changes nothing that matters here.
async fn ask(operation: &Operation, api: &Api) -> (u16, Value) {
    let request = fresh(api, &operation.method, &operation.target());
    let reply = request.send().await.expect("an answer");
    let body = serde_json::from_slice(&reply.body).unwrap_or(Value::Null);
    (reply.status, body)
}

/// A server with a file root of its own, because some routes need no body to act on all of it.
async fn server(db: &TestDb, root: &tempfile::TempDir) -> TestServer {
    let root = root.path().display().to_string();
    TestServer::builder(db)
        .kinds(FakeKinds::first_party())
        .env("FILE_MANAGER_ROOTS", root)
        .start()
        .await
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// Forged tokens, each with a name and the answer that it gets.
fn forgeries() -> Vec<(&'static str, String, &'static str)> {
    let good = token::claims(Role::SuperAdmin, 4_000_000_000);
    let with = |key: &str, value: Value| {
        let mut claims = good.clone();
        claims[key] = value;
        claims
    };
    let header = |algorithm: &str| json!({ "alg": algorithm, "typ": "JWT" });
    let (hs256, none) = (header("HS256"), header("none"));
    let by = |header: &Value, secret: &str| token::sign(header, &good, secret);
    let embedded =
        json!({ "alg": "HS256", "jwk": { "kty": "oct", "k": "bm90IHRoZSBrZXkgb2YgdGhpcyBzZXJ2ZXI" } });
    let signed = token::good(&good);
    let (head, signature) = signed.rsplit_once('.').expect("three parts");
    let expired = token::good(&token::claims(Role::SuperAdmin, 1_000_000_000));
    const NO: &str = "Unauthorized";
    vec![
        ("expired", expired, NO),
        (
            "another key",
            by(&hs256, "not the key of this server, though long enough"),
            NO,
        ),
        ("the empty key", by(&hs256, ""), NO),
        ("alg none", format!("{}.", token::unsigned(&none, &good)), NO),
        (
            "alg None",
            format!("{}.", token::unsigned(&header("None"), &good)),
            NO,
        ),
        ("alg none, signed", by(&none, token::JWT_SECRET), NO),
        ("alg none, two parts", token::unsigned(&none, &good), NO),
        (
            "alg RS256, signed by HMAC",
            by(&header("RS256"), token::JWT_SECRET),
            NO,
        ),
        (
            "alg RS256, signed with a public key",
            by(&header("RS256"), PUBLIC_KEY),
            NO,
        ),
        ("alg HS256, signed with a public key", by(&hs256, PUBLIC_KEY), NO),
        ("alg HS512 in words", by(&header("HS512"), token::JWT_SECRET), NO),
        ("alg ES256 in words", by(&header("ES256"), token::JWT_SECRET), NO),
        ("no alg", by(&json!({ "typ": "JWT" }), token::JWT_SECRET), NO),
        (
            "a key of its own",
            by(&embedded, "not the key of this server"),
            NO,
        ),
        ("no signature", head.to_owned(), NO),
        ("cut signature", format!("{head}.{}", &signature[1..]), NO),
        ("longer signature", format!("{signed}AA"), NO),
        ("no exp", token::good(&with("exp", Value::Null)), NO),
        ("exp in words", token::good(&with("exp", json!("tomorrow"))), NO),
        ("no sub", token::good(&with("sub", Value::Null)), NO),
        (
            "a refresh token",
            token::good(&with("type", json!("refresh"))),
            "Invalid token type",
        ),
        (
            "no type",
            token::good(&with("type", Value::Null)),
            "Invalid token type",
        ),
        ("garbage", "not.a.token".to_owned(), NO),
        ("empty", String::new(), NO),
    ]
}

both_databases! {
    async fn each_role_gets_exactly_what_the_table_grants(db: &TestDb) {
        let root = directory();
        let server = server(db, &root).await;
        for operation in operations(&server.anonymous()).await {
            let row = operation.row();
            for &role in Role::ALL {
                let missing: Vec<&str> =
                    operation.needed.iter().filter(|p| !p.roles().contains(&role)).map(|p| p.key()).collect();
                let (status, body) = ask(&operation, &server.user(role)).await;
                if missing.is_empty() {
                    let refused = status == 403 || (status == 401 && operation.takes_token());
                    assert!(!refused && status < 500, "{row} as {}: {status} {body}", role.name());
                } else {
                    let message = format!("Missing permission(s): {}", missing.join(", "));
                    let wanted = json!({ "statusCode": 403, "message": message, "error": "Forbidden", "code": "forbidden.permission" });
                    assert_eq!((status, body), (403, wanted), "{row} as {}", role.name());
                }
            }
        }
    }

    async fn nobody_gets_in_without_a_good_token(db: &TestDb) {
        let root = directory();
        let server = server(db, &root).await;
        let anonymous = server.anonymous();
        let mut identities = vec![("no token", anonymous.clone(), "Unauthorized")];
        identities.extend(forgeries().into_iter().map(|(name, token, message)| (name, anonymous.with_token(Some(token)), message)));
        for operation in operations(&anonymous).await.iter().filter(|operation| operation.takes_token()) {
            for (name, api, message) in &identities {
                let wanted = match *message {
                    "Unauthorized" => json!({ "message": "Unauthorized", "statusCode": 401, "code": "unauthorized" }),
                    text => json!({ "message": text, "error": "Unauthorized", "statusCode": 401, "code": "unauthorized.token_type" }),
                };
                assert_eq!(ask(operation, api).await, (401, wanted), "{} with {name}", operation.row());
            }
        }
        let good = token::good(&token::claims(Role::SuperAdmin, 4_000_000_000));
        let signed_in = anonymous.with_token(Some(good));
        assert_eq!(signed_in.send("GET", "/api/engines", None).await.status, 200, "the same claims, well signed");
    }

    async fn an_api_key_or_a_query_token_is_no_credential(db: &TestDb) {
        let root = directory();
        let server = server(db, &root).await;
        let admin = server.admin();
        let anonymous = server.anonymous();
        let created = admin.post("/api/api-keys", json!({ "name": "a script", "scopes": ["torrents.view"] })).await;
        let key = created["key"].as_str().expect("the key, once");
        for operation in operations(&anonymous).await.iter().filter(|operation| operation.takes_token()) {
            let path = operation.target();
            let query = format!("{path}?token={0}&access_token={0}&api_key={key}", admin.token());
            let in_query = fresh(&anonymous, &operation.method, &query).send().await.expect("an answer");
            assert_eq!(in_query.status, 401, "{} with a token in the query", operation.row());
            let values = [
                ("authorization", format!("Bearer {key}")),
                ("authorization", format!("ApiKey {key}")),
                ("x-api-key", key.to_owned()),
                ("authorization", format!("Token {}", admin.token())),
                ("authorization", format!("Basic {}", admin.token())),
                ("authorization", admin.token().to_owned()),
                ("cookie", format!("accessToken={}", admin.token())),
            ];
            for (name, value) in values {
                let reply = fresh(&anonymous, &operation.method, &path).header(name, &value).send().await.expect("an answer");
                assert_eq!(reply.status, 401, "{} with {name}: {value}", operation.row());
            }
        }
    }
}
