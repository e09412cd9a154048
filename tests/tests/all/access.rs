//! Role × route: every operation of the served OpenAPI document, asked by each role and by everybody who is nobody.
//!
//! The document says what a route needs, the kernel's table says what a role holds, `routes.tsv` says what was agreed;
//! the three must agree with what the server does.

use std::collections::BTreeSet;

use qm_kernel::{Permission, Role};
use qm_testkit::fake::FakeKinds;
use qm_testkit::{Api, TestDb, TestServer, both_databases, token};
use serde_json::{Value, json};

/// What was agreed; `GET /api/nope` style routes are in `errors`.
const AGREED: &str = include_str!("../../routes.tsv");

/// One operation of the document.
struct Operation {
    method: String,
    /// With `{parameters}`.
    path: String,
    /// `public`, `authenticated` or `permissions`.
    access: String,
    needed: Vec<Permission>,
}

impl Operation {
    fn row(&self) -> String {
        let path = self.path.replace('{', ":").replace('}', "");
        let keys: Vec<&str> = self.needed.iter().map(|permission| permission.key()).collect();
        let access = if keys.is_empty() {
            self.access.clone()
        } else {
            keys.join(" ")
        };
        format!("{}\t{path}\t{access}", self.method)
    }

    /// A path that names nothing that exists.
    fn target(&self) -> String {
        let hash = "f".repeat(40);
        self.path
            .replace("{hash}", &hash)
            .replace("{id}", "00000000-0000-4000-8000-000000000000")
    }

    /// Asks without a body: whoever is let in gets a 400 or a 404 at worst, and changes nothing.
    async fn ask(&self, api: &Api) -> (u16, Value) {
        let reply = api.send(&self.method, &self.target(), None).await;
        let body = serde_json::from_slice(&reply.body).unwrap_or(Value::Null);
        (reply.status, body)
    }
}

async fn operations(api: &Api) -> Vec<Operation> {
    let document = api.get("/api/docs/openapi.json").await;
    let paths = document["paths"].as_object().expect("paths");
    let mut found = Vec::new();
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().expect("methods") {
            let Some(access) = operation["x-access"].as_str() else {
                continue;
            };
            let keys = operation["x-permissions"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            found.push(Operation {
                method: method.to_uppercase(),
                path: path.clone(),
                access: access.to_owned(),
                needed: keys
                    .map(|key| Permission::from_key(key).expect("a known permission"))
                    .collect(),
            });
        }
    }
    assert!(found.len() > 30, "the document lists the routes");
    found
}

async fn server(db: &TestDb) -> TestServer {
    TestServer::builder(db).kinds(FakeKinds::new()).start().await
}

both_databases! {
    async fn each_role_gets_exactly_what_the_table_grants(db: &TestDb) {
        let server = server(db).await;
        for operation in operations(&server.anonymous()).await {
            let row = operation.row();
            for &role in Role::ALL {
                let missing: Vec<&str> =
                    operation.needed.iter().filter(|p| !p.roles().contains(&role)).map(|p| p.key()).collect();
                let (status, body) = operation.ask(&server.user(role)).await;
                if missing.is_empty() {
                    let refused = status == 403 || (status == 401 && operation.access != "public");
                    assert!(!refused && status < 500, "{row} as {}: {status} {body}", role.name());
                } else {
                    let message = format!("Missing permission(s): {}", missing.join(", "));
                    let wanted = json!({ "statusCode": 403, "message": message, "error": "Forbidden" });
                    assert_eq!((status, body), (403, wanted), "{row} as {}", role.name());
                }
            }
        }
    }

    async fn nobody_gets_in_without_a_good_token(db: &TestDb) {
        let server = server(db).await;
        let anonymous = server.anonymous();
        let far = 4_000_000_000;
        let (good, none) = (token::claims(Role::SuperAdmin, far), json!({ "alg": "none", "typ": "JWT" }));
        let hs256 = json!({ "alg": "HS256", "typ": "JWT" });
        let with = |key: &str, value: Value| {
            let mut claims = good.clone();
            claims[key] = value;
            claims
        };
        let signed = token::good(&good);
        let (head, signature) = signed.rsplit_once('.').expect("three parts");
        let bad = [
            ("expired", token::good(&token::claims(Role::SuperAdmin, 1_000_000_000)), "Unauthorized"),
            ("another key", token::sign(&hs256, &good, "not the key of this server, though long enough"), "Unauthorized"),
            ("alg none", format!("{}.", token::unsigned(&none, &good)), "Unauthorized"),
            ("alg none, signed", token::sign(&none, &good, token::JWT_SECRET), "Unauthorized"),
            ("alg HS512 in words", token::sign(&json!({ "alg": "HS512" }), &good, token::JWT_SECRET), "Unauthorized"),
            ("no signature", head.to_owned(), "Unauthorized"),
            ("cut signature", format!("{head}.{}", &signature[1..]), "Unauthorized"),
            ("no exp", token::good(&with("exp", Value::Null)), "Unauthorized"),
            ("exp in words", token::good(&with("exp", json!("tomorrow"))), "Unauthorized"),
            ("no sub", token::good(&with("sub", Value::Null)), "Unauthorized"),
            ("a refresh token", token::good(&with("type", json!("refresh"))), "Invalid token type"),
            ("no type", token::good(&with("type", Value::Null)), "Invalid token type"),
            ("garbage", "not.a.token".to_owned(), "Unauthorized"),
            ("empty", String::new(), "Unauthorized"),
        ];
        let mut identities = vec![("no token", anonymous.clone(), "Unauthorized")];
        identities.extend(bad.map(|(name, token, message)| (name, anonymous.with_token(Some(token)), message)));
        for operation in operations(&anonymous).await.iter().filter(|operation| operation.access != "public") {
            for (name, api, message) in &identities {
                let (status, body) = operation.ask(api).await;
                assert_eq!((status, &body["message"]), (401, &json!(message)), "{} with {name}: {body}", operation.row());
            }
        }
        let reply = anonymous.send("GET", "/api/torrents", None).await;
        assert_eq!(reply.json(), json!({ "statusCode": 401, "message": "Unauthorized" }), "the bare 401 has no `error`");
        let signed_in = anonymous.with_token(Some(signed));
        assert_eq!(signed_in.send("GET", "/api/engines", None).await.status, 200, "the same claims, well signed");
    }

    async fn an_api_key_or_a_query_token_is_no_credential(db: &TestDb) {
        let server = server(db).await;
        let admin = server.admin();
        let anonymous = server.anonymous();
        let query = format!("/api/engines?token={0}&access_token={0}", admin.token());
        assert_eq!(anonymous.send("GET", &query, None).await.status, 401);
        for value in [format!("Token {}", admin.token()), format!("Basic {}", admin.token()), admin.token().to_owned()] {
            let reply = anonymous.request("GET", "/api/engines").header("authorization", &value).send().await;
            assert_eq!(reply.expect("an answer").status, 401, "{value}");
        }
    }
}

/// A difference is a decision: change `routes.tsv` together with the code and say why.
#[test]
fn the_served_routes_are_those_agreed() {
    let document: Value =
        serde_json::from_str(&qm_server::api::document().expect("a document")).expect("JSON");
    let mut served = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let Some(access) = operation["x-access"].as_str() else {
                continue;
            };
            let keys: Vec<&str> = operation["x-permissions"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let access = if keys.is_empty() {
                access.to_owned()
            } else {
                keys.join(" ")
            };
            served.insert(format!(
                "{}\t{}\t{access}",
                method.to_uppercase(),
                path.replace('{', ":").replace('}', "")
            ));
        }
    }
    let agreed: BTreeSet<String> = AGREED.lines().skip(1).map(str::to_owned).collect();
    let missing: Vec<_> = agreed.difference(&served).collect();
    let extra: Vec<_> = served.difference(&agreed).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "not served as agreed: {missing:#?}\nserved but not agreed: {extra:#?}"
    );
}
