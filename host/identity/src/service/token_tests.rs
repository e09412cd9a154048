//! Tests of accepted and refused tokens.

use hmac::{Hmac, Mac};
use proptest::prelude::*;
use qm_test_base::Hands;
use sha2::Sha256;

use super::*;

const SECRET: &str = "a-signing-secret-of-more-than-32-characters";
const START_MS: i64 = 1_932_628_500_250;

fn service() -> (TokenService, Arc<Hands>) {
    let hands = Hands::starting_at(START_MS);
    let ctx = hands.ctx_without_chance();
    (
        TokenService::new(&Secret::new(SECRET), Duration::from_mins(15), ctx),
        hands,
    )
}

fn subject() -> Subject<'static> {
    Subject {
        user_id: "11111111-1111-4111-8111-111111111111",
        username: "zoë \"the\" admin",
        roles: &[Role::PowerUser, Role::ReadOnly],
        permissions: [Permission::TorrentsView, Permission::SystemView]
            .into_iter()
            .collect(),
    }
}

/// Signs any header and claims with HMAC-SHA-256 under `secret`.
fn forge(header: &str, claims: &str, secret: &str) -> String {
    let signed = format!(
        "{}.{}",
        BASE64_URL_SAFE_NO_PAD.encode(header),
        BASE64_URL_SAFE_NO_PAD.encode(claims)
    );
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any key length");
    let signature = mac.chain_update(&signed).finalize().into_bytes();
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

fn claims(extra: &str) -> String {
    format!(
        r#"{{"sub":"s","username":"u","roles":[],"permissions":[],"exp":{}{extra}}}"#,
        START_MS / 1000 + 60
    )
}

const GOOD_HEADER: &str = r#"{"typ":"JWT","alg":"HS256"}"#;

#[test]
fn the_principal_is_what_the_token_was_issued_with() {
    let (service, _) = service();
    let principal = service
        .verify(&service.issue(&subject()).expect("issued"))
        .expect("verified");
    assert_eq!(&*principal.user_id, subject().user_id);
    assert_eq!(&*principal.username, subject().username);
    assert_eq!(principal.roles, subject().roles);
    assert_eq!(principal.permissions, subject().permissions);
    assert_eq!(principal.expires_at.secs(), START_MS / 1000 + 900);
}

#[test]
fn claims_have_the_names_and_types_of_the_contract() {
    let (service, _) = service();
    let token = service.issue(&subject()).expect("issued");
    let part = |n: usize| -> serde_json::Value {
        let text = token.split('.').nth(n).expect("three parts");
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(text).expect("base64url")).expect("JSON")
    };
    assert_eq!(part(0), serde_json::json!({ "alg": "HS256", "typ": "JWT" }));
    assert_eq!(
        part(1),
        serde_json::json!({
            "sub": subject().user_id,
            "username": subject().username,
            "roles": ["POWER_USER", "READ_ONLY"],
            "permissions": ["torrents.view", "system.view"],
            "type": "access",
            "iat": START_MS / 1000,
            "exp": START_MS / 1000 + 900,
        })
    );
}

/// RFC 7515, appendix A.1: another implementation's HS256 token checks out under its key.
#[test]
fn the_signature_is_the_one_of_rfc_7515() {
    let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    let key = BASE64_URL_SAFE_NO_PAD.decode(key).expect("base64url");
    let service = TokenService::keyed(&key, Duration::from_mins(15), Ctx::system());
    let token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let claims: serde_json::Value = service.signed_claims(token).expect("well signed");
    assert_eq!(claims["iss"], "joe");
}

/// A token issued by an earlier version without the crate.
const ISSUED_BEFORE: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMTExMTExMS0xMTExLTQxMTEtODExMS0xMTExMTExMTExMTEiLCJ1c2VybmFtZSI6Inpvw6sgXCJ0aGVcIiBhZG1pbiIsInJvbGVzIjpbIlBPV0VSX1VTRVIiLCJSRUFEX09OTFkiXSwicGVybWlzc2lvbnMiOlsidG9ycmVudHMudmlldyIsInN5c3RlbS52aWV3Il0sInR5cGUiOiJhY2Nlc3MiLCJpYXQiOjE5MzI2Mjg1MDAsImV4cCI6MTkzMjYyOTQwMH0.pATScHyxeBX9U_EmucRGmI3F1p_mnnoIABsC-VxWln8";

#[test]
fn tokens_issued_before_stay_valid() {
    let (service, _) = service();
    let principal = service.verify(ISSUED_BEFORE).expect("verified");
    assert_eq!(&*principal.user_id, subject().user_id);
    assert_eq!(&*principal.username, subject().username);
    assert_eq!(principal.roles, subject().roles);
    assert_eq!(principal.permissions, subject().permissions);
    assert_eq!(principal.expires_at.secs(), START_MS / 1000 + 900);
}

#[test]
fn a_token_dies_at_its_expiry() {
    let (service, hands) = service();
    let token = service.issue(&subject()).expect("issued");
    hands.advance(Duration::from_secs(899));
    assert!(service.verify(&token).is_ok());
    hands.advance(Duration::from_secs(1));
    assert_eq!(service.verify(&token).err(), Some(TokenError::Unauthorized));
}

/// Correctly signed with our secret, but no token of ours.
#[test]
fn foreign_headers_and_claims_are_refused() {
    let (service, _) = service();
    let access = &*claims(r#","type":"access""#);
    assert!(
        service.verify(&forge(GOOD_HEADER, access, SECRET)).is_ok(),
        "the table starts from a good token"
    );
    let refused = TokenError::Unauthorized;
    for (header, claims, error) in [
        (r#"{"alg":"none"}"#, access, refused),
        (r#"{"alg":"RS256"}"#, access, refused),
        (r#"{"alg":"HS512"}"#, access, refused),
        (r#"{"alg":"hs256"}"#, access, refused),
        (r#"{"alg":["HS256"]}"#, access, refused),
        ("{}", access, refused),
        (r#"{"alg":"HS256","crit":["x"]}"#, access, refused),
        (
            GOOD_HEADER,
            &claims(r#","type":"refresh""#),
            TokenError::WrongType,
        ),
        (GOOD_HEADER, &claims(""), TokenError::WrongType),
        (GOOD_HEADER, &claims(r#","type":1"#), refused),
        (
            GOOD_HEADER,
            r#"{"sub":"s","username":"u","type":"access"}"#,
            refused,
        ),
        (GOOD_HEADER, "[]", refused),
        (GOOD_HEADER, &" ".repeat(MAX_TOKEN_BYTES), refused),
    ] {
        let verdict = service.verify(&forge(header, claims, SECRET));
        assert_eq!(verdict.err(), Some(error), "{header} {claims:.80}");
    }
}

#[test]
fn unsigned_and_forged_tokens_are_refused() {
    let (service, _) = service();
    let access = &*claims(r#","type":"access""#);
    let good = forge(GOOD_HEADER, access, SECRET);
    let unsigned = forge(r#"{"alg":"none"}"#, access, SECRET);
    let unsigned = unsigned
        .rsplit_once('.')
        .map(|(signed, _)| format!("{signed}."))
        .expect("three parts");
    for token in [
        forge(GOOD_HEADER, access, "another secret"),
        unsigned,
        format!("x.{good}"),
        format!("{good}."),
        format!("{good}=="),
        "key_0123456789ab.c2VjcmV0".to_owned(),
        String::new(),
    ] {
        assert_eq!(
            service.verify(&token).err(),
            Some(TokenError::Unauthorized),
            "{token}"
        );
    }
}

#[test]
fn names_of_another_release_grant_nothing() {
    let (service, _) = service();
    let claims = format!(
        r#"{{"sub":"s","username":"u","roles":["OWNER","USER"],"permissions":["x.y","rss.view"],"type":"access","exp":{START_MS}}}"#
    );
    let principal = service
        .verify(&forge(GOOD_HEADER, &claims, SECRET))
        .expect("verified");
    assert_eq!(principal.roles, [Role::User]);
    assert_eq!(
        principal.permissions.iter().collect::<Vec<_>>(),
        [Permission::RssView]
    );
}

proptest! {
    #[test]
    fn arbitrary_texts_never_panic_and_never_pass(token in ".*") {
        let (service, _) = service();
        prop_assert!(service.verify(&token).is_err());
    }

    #[test]
    fn arbitrary_signed_claims_never_panic(header in ".*", claims in ".*") {
        let (service, _) = service();
        let _ = service.verify(&forge(&header, &claims, SECRET));
        let _ = service.verify(&forge(GOOD_HEADER, &claims, SECRET));
    }

    #[test]
    fn one_changed_character_breaks_a_token(at in 0_usize..200, with in "[A-Za-z0-9_.-]") {
        let (service, _) = service();
        let token = service.issue(&subject()).expect("issued");
        let mut changed = token.clone();
        changed.replace_range(at..=at, &with);
        // The last character of a base64 text may carry unused bits, which the decoder refuses when set.
        prop_assert_eq!(service.verify(&changed).is_ok(), changed == token);
    }
}
