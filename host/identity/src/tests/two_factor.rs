//! Tests of the second factor.

use http::{Method, StatusCode};
use qm_kernel::Role;
use serde_json::json;

use super::surface::{Surface, refusal, text};
use super::*;
use crate::model::totp::code_at;

sql! {
    STORED = "SELECT totp_secret, recovery_codes FROM users WHERE id = $1";
}

/// A user who is about to set up a second factor.
struct Desk {
    surface: Surface,
    id: String,
    token: String,
}

impl Desk {
    async fn new(db: Db) -> Self {
        let surface = Surface::new(db).await;
        let id = surface.house.user("owner", Role::User).await;
        let token = surface.token(&id).await;
        Self { surface, id, token }
    }

    async fn post(&self, step: &str, body: Value) -> (StatusCode, Value) {
        let path = format!("/api/account/2fa/{step}");
        self.surface
            .call(Method::POST, &path, Some(&self.token), body)
            .await
    }

    async fn setup(&self) -> Secret {
        let (status, body) = self.post("setup", Value::Null).await;
        assert_eq!(status, StatusCode::CREATED, "{body}");
        Secret::new(text(&body["secret"]))
    }

    fn code(&self, seed: &Secret) -> Value {
        json!({ "code": code_at(seed, self.surface.house.ctx.now()) })
    }

    /// Sets up and enables; answers seed and recovery codes.
    async fn enabled(&self) -> (Secret, Vec<String>) {
        let seed = self.setup().await;
        let (status, body) = self.post("enable", self.code(&seed)).await;
        assert_eq!(status, StatusCode::CREATED, "{body}");
        (seed, codes(&body))
    }

    async fn status(&self) -> Value {
        let (status, body) = self
            .surface
            .call(Method::GET, "/api/account/2fa", Some(&self.token), Value::Null)
            .await;
        assert_eq!(status, StatusCode::OK);
        body
    }

    async fn stored(&self) -> (Option<String>, String) {
        let mut tx = self.surface.house.db.begin_read().await.expect("begun");
        qm_db::one!(&mut tx, (Option<String>, String), STORED, &self.id)
            .await
            .expect("read")
    }
}

fn codes(body: &Value) -> Vec<String> {
    let codes = body["recoveryCodes"].as_array().expect("a list");
    codes.iter().map(|code| text(code).to_owned()).collect()
}

qm_db::db_test! {
    async fn a_second_factor_from_setup_to_its_end(db: Db) {
        let desk = Desk::new(db).await;
        let house = &desk.surface.house;
        assert_eq!(desk.status().await, json!({ "enabled": false }));
        let replaced = desk.setup().await;
        let (_, setup) = desk.post("setup", Value::Null).await;
        let seed = Secret::new(text(&setup["secret"]));
        assert_ne!(seed, replaced);
        assert_eq!(
            setup["otpauthUrl"],
            format!("otpauth://totp/Quartermaster:owner?secret={}&period=30&digits=6&algorithm=SHA1&issuer=Quartermaster", seed.expose())
        );
        assert!(text(&setup["qrDataUrl"]).starts_with("data:image/png;base64,"));
        let (sealed, _) = desk.stored().await;
        assert!(!sealed.expect("kept").contains(seed.expose()), "the seed is stored encrypted");
        house.login("owner", PASSWORD, None).await.expect("it is not on yet");
        assert_eq!(desk.status().await, json!({ "enabled": false }));

        let invalid = refusal(StatusCode::BAD_REQUEST, "Invalid verification code");
        assert_eq!(desk.post("enable", desk.code(&replaced)).await, invalid);
        let (status, body) = desk.post("enable", desk.code(&seed)).await;
        assert_eq!(status, StatusCode::CREATED);
        let recovery = codes(&body);
        assert_eq!(recovery.len(), 10);
        assert_eq!(desk.status().await, json!({ "enabled": true }));
        let (_, stored) = desk.stored().await;
        assert!(recovery.iter().all(|code| !stored.contains(code) && !stored.contains(&code.replace('-', ""))));

        assert!(matches!(house.login("owner", PASSWORD, None).await, Err(IdentityError::TwoFactorRequired)));
        let code = code_at(&seed, house.ctx.now());
        assert_eq!(failure(house.login("owner", PASSWORD, Some(&code)).await), "Invalid two-factor code", "spent");
        house.clock.advance(Duration::from_secs(30));
        let code = code_at(&seed, house.ctx.now());
        house.login("owner", PASSWORD, Some(&code)).await.expect("logged in");
        house.login("owner", PASSWORD, Some(&recovery[3])).await.expect("logged in");
        assert_eq!(failure(house.login("owner", PASSWORD, Some(&recovery[3])).await), "Invalid two-factor code");

        let incorrect = refusal(StatusCode::UNAUTHORIZED, "Incorrect password");
        assert_eq!(desk.post("disable", json!({ "password": "wrong" })).await, incorrect);
        assert_eq!(desk.status().await, json!({ "enabled": true }));
        let done = (StatusCode::CREATED, json!({ "success": true }));
        assert_eq!(desk.post("disable", json!({ "password": PASSWORD })).await, done);
        assert_eq!(desk.stored().await, (None, "[]".to_owned()));
        house.login("owner", PASSWORD, None).await.expect("logged in");
        assert_eq!(desk.post("disable", json!({ "password": PASSWORD })).await, done, "and again");

        for action in ["account.2fa_enabled", "account.2fa_disabled"] {
            let mut rows = house.audited(action).await;
            assert_eq!(rows.len(), 2, "{action}: once in vain, once not");
            rows.sort_by(|one, other| one.result.cmp(&other.result));
            assert!(rows.iter().all(|row| row.user_id.as_deref() == Some(&*desk.id)));
            assert_eq!(rows.iter().map(|row| &*row.result).collect::<Vec<_>>(), ["failure", "success"]);
        }
        let heard: Vec<_> = house.heard.take().iter().map(|event| event.event_key.clone()).collect();
        assert_eq!(heard, ["security.two_factor_disabled"]);
    }

    async fn steps_out_of_order_are_refused(db: Db) {
        let desk = Desk::new(db).await;
        let first = refusal(StatusCode::BAD_REQUEST, "Start setup before enabling two-factor");
        assert_eq!(desk.post("enable", json!({ "code": "000000" })).await, first);
        let off = refusal(StatusCode::BAD_REQUEST, "Two-factor is not enabled");
        assert_eq!(desk.post("recovery", json!({ "code": "000000" })).await, off);
        desk.setup().await;
        assert_eq!(desk.post("recovery", json!({ "code": "000000" })).await, off, "a pending setup is not on");
        let (seed, _) = desk.enabled().await;
        let on = refusal(StatusCode::BAD_REQUEST, "Two-factor is already enabled");
        assert_eq!(desk.post("setup", Value::Null).await, on);
        assert_eq!(desk.post("enable", desk.code(&seed)).await, on);
    }

    async fn new_recovery_codes_replace_the_old_ones(db: Db) {
        let desk = Desk::new(db).await;
        let (seed, old) = desk.enabled().await;
        let invalid = refusal(StatusCode::BAD_REQUEST, "Invalid verification code");
        assert_eq!(desk.post("recovery", json!({ "code": old[0] })).await, invalid, "only the authenticator will do");
        assert_eq!(desk.post("recovery", desk.code(&seed)).await, invalid, "the code that enabled it is spent");
        desk.surface.house.clock.advance(Duration::from_secs(30));
        let (status, body) = desk.post("recovery", desk.code(&seed)).await;
        assert_eq!(status, StatusCode::CREATED);
        assert_eq!(desk.post("recovery", desk.code(&seed)).await, invalid, "and so is the one of these");
        let new = codes(&body);
        let house = &desk.surface.house;
        assert_eq!(failure(house.login("owner", PASSWORD, Some(&old[0])).await), "Invalid two-factor code");
        house.login("owner", PASSWORD, Some(&new[0])).await.expect("logged in");
        let rows = house.audited("account.2fa_recovery_regenerated").await;
        assert_eq!(rows.iter().filter(|row| row.result == "success").count(), 1);
    }

    async fn of_two_setups_enabled_at_once_one_is_on(db: Db) {
        let desk = Desk::new(db).await;
        let seed = desk.setup().await;
        let (one, two) = tokio::join!(desk.post("enable", desk.code(&seed)), desk.post("enable", desk.code(&seed)));
        let winners: Vec<_> = [one, two].into_iter().filter(|(status, _)| *status == StatusCode::CREATED).collect();
        let [(_, body)] = &winners[..] else { panic!("{} enabled it", winners.len()) };
        let code = &codes(body)[0];
        desk.surface.house.login("owner", PASSWORD, Some(code)).await.expect("the codes shown are those that work");
    }

    async fn a_seed_under_a_lost_key_can_be_set_up_anew(db: Db) {
        let desk = Desk::new(db).await;
        let mut tx = desk.surface.house.db.begin_write().await.expect("begun");
        let done = qm_db::exec!(&mut tx, ENABLE_TOTP, &desk.id, false, "not a cipher text", "[]").await;
        done.expect("updated").exactly(1).expect("one row");
        tx.commit().await.expect("committed");
        let first = refusal(StatusCode::BAD_REQUEST, "Start setup before enabling two-factor");
        assert_eq!(desk.post("enable", json!({ "code": "000000" })).await, first);
        desk.enabled().await;
    }
}
