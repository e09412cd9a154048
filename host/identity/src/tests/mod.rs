//! Tests of identity on both databases, with a clock and events that the test controls.

mod account;
mod api_keys;
mod holder;
mod login;
mod migration;
mod operator;
mod password;
mod people;
mod refresh;
mod seed;
mod surface;
mod two_factor;
mod upkeep;
mod users;
mod users_model;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use qm_db::{Db, FromRow, sql};
use qm_kernel::{Caller, ClientInfo, Ctx, Principal, Role, Secret, Timestamp};
use qm_platform::{Audit, Cipher};
use qm_test_base::{Hands, Heard, START_MS, frozen};
use serde_json::Value;

use crate::{
    Credentials, FirstAdmin, HashCost, Identity, IdentityDeps, IdentityError, NewUser, Pace, Session,
    TokenService,
};

const PASSWORD: &str = "correct horse battery";
/// Short delays, which no test notices.
const BRISK: Pace = Pace {
    first: Duration::from_millis(1),
    longest: Duration::from_millis(2),
    ..Pace::STANDARD
};
/// Delays longer than any test.
const SLOW: Pace = Pace {
    first: Duration::from_hours(1),
    longest: Duration::from_hours(1),
    ..Pace::STANDARD
};
const REFRESH_TTL: Duration = Duration::from_hours(30 * 24);

sql! {
    AUDIT_ROWS = "SELECT action, user_id, object_type, object_id, result, ip_address, user_agent, metadata \
        FROM audit_logs ORDER BY created_at, id";
    TOKEN_ROWS = "SELECT token_hash, family, user_agent, ip_address, expires_at, revoked_at FROM refresh_tokens \
        WHERE user_id = $1 ORDER BY created_at, id";
    DEACTIVATE = "UPDATE users SET is_active = $2 WHERE id = $1";
    ENABLE_TOTP = "UPDATE users SET totp_enabled = $2, totp_secret = $3, recovery_codes = $4 WHERE id = $1";
    ATTEMPTS = "SELECT failed_login_attempts FROM users WHERE id = $1";
    LAST_LOGIN = "SELECT COALESCE(last_login_at, 0) FROM users WHERE id = $1";
}

/// The service with its dependencies.
struct House {
    identity: Identity,
    tokens: Arc<TokenService>,
    cipher: Cipher,
    db: Db,
    clock: Arc<Hands>,
    heard: Arc<Heard>,
    ctx: Ctx,
}

#[derive(FromRow)]
struct AuditRow {
    action: String,
    user_id: Option<String>,
    object_type: Option<String>,
    object_id: Option<String>,
    result: String,
    ip_address: Option<String>,
    user_agent: Option<String>,
    metadata: Option<String>,
}

#[derive(FromRow)]
struct StoredToken {
    token_hash: String,
    family: String,
    user_agent: Option<String>,
    ip_address: Option<String>,
    expires_at: i64,
    revoked_at: Option<i64>,
}

impl House {
    /// A seeded service whose administrator is `admin` with [`PASSWORD`].
    async fn seeded(db: Db) -> Self {
        Self::paced(db, BRISK).await
    }

    /// A seeded service with these delays after failures.
    async fn paced(db: Db, pace: Pace) -> Self {
        let house = Self::built(db, pace);
        house.identity.seed(&admin()).await.expect("seeded");
        house
    }

    fn bare(db: Db) -> Self {
        Self::built(db, BRISK)
    }

    fn built(db: Db, pace: Pace) -> Self {
        let (clock, ctx) = frozen();
        let tokens = Arc::new(TokenService::new(
            &Secret::new("signing"),
            Duration::from_mins(15),
            ctx.clone(),
        ));
        let heard = Arc::new(Heard::default());
        let cipher = Cipher::new(&Secret::new("encryption"), ctx.clone());
        let identity = Identity::new(IdentityDeps {
            db: db.clone().telling(heard.clone()),
            audit: Audit::new(ctx.clone()),
            cipher: cipher.clone(),
            tokens: tokens.clone(),
            hash_cost: HashCost::CHEAP,
            pace,
            refresh_ttl: REFRESH_TTL,
            ctx: ctx.clone(),
        });
        Self {
            identity,
            tokens,
            cipher,
            db,
            clock,
            heard,
            ctx,
        }
    }

    /// A user named after the role, with [`PASSWORD`]; answers the id.
    async fn user(&self, name: &str, role: Role) -> String {
        let user = NewUser {
            username: name.to_owned(),
            email: format!("{name}@example.org"),
            display_name: None,
            password: Secret::new(PASSWORD),
            roles: vec![role],
            is_system: false,
        };
        self.identity.create_user(user).await.expect("created")
    }

    async fn login(
        &self,
        username: &str,
        password: &str,
        code: Option<&str>,
    ) -> Result<Session, IdentityError> {
        let credentials = Credentials {
            username: username.to_owned(),
            password: Secret::new(password),
            second_factor: code.map(str::to_owned),
        };
        self.identity.login(credentials, &client()).await
    }

    /// A login from another address than the usual one.
    async fn login_from(&self, ip: &str, username: &str, password: &str) -> Result<Session, IdentityError> {
        let credentials = Credentials {
            username: username.to_owned(),
            password: Secret::new(password),
            second_factor: None,
        };
        let client = ClientInfo {
            ip: ip.parse().expect("an address"),
            ..client()
        };
        self.identity.login(credentials, &client).await
    }

    /// Waits until `count` attempts at passwords or codes are held back.
    async fn until_delayed(&self, metrics: &prometheus::Registry, count: usize) {
        let delayed = || {
            let families = metrics.gather();
            let family = families
                .iter()
                .find(|f| f.name() == "quartermaster_login_attempts_delayed");
            family.expect("registered").get_metric()[0]
                .get_gauge()
                .get_value()
        };
        let reached = tokio::time::timeout(Duration::from_mins(1), async {
            while delayed() as usize != count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        assert!(
            reached.await.is_ok(),
            "{} attempts are held back, not {count}",
            delayed()
        );
    }

    async fn refresh(&self, token: &Secret) -> Result<Session, IdentityError> {
        self.identity.refresh(token, &client()).await
    }

    /// A caller with a valid token of this user, with present claims.
    async fn who(&self, id: &str) -> Who {
        let account = self.identity.account(id).await.expect("there");
        Who::claiming(id, &account.roles)
    }

    /// The audit rows of one action.
    async fn audited(&self, action: &str) -> Vec<AuditRow> {
        let mut rows = self.audit_rows().await;
        rows.retain(|row| row.action == action);
        rows
    }

    async fn set_active(&self, id: &str, active: bool) {
        let mut tx = self.db.begin_write().await.expect("begun");
        qm_db::exec!(&mut tx, DEACTIVATE, id, active)
            .await
            .expect("updated")
            .exactly(1)
            .expect("one row");
        tx.commit().await.expect("committed");
    }

    async fn audit_rows(&self) -> Vec<AuditRow> {
        let mut tx = self.db.begin_read().await.expect("begun");
        qm_db::all!(&mut tx, AuditRow, AUDIT_ROWS).await.expect("read")
    }

    async fn token_rows(&self, user_id: &str) -> Vec<StoredToken> {
        let mut tx = self.db.begin_read().await.expect("begun");
        qm_db::all!(&mut tx, StoredToken, TOKEN_ROWS, user_id)
            .await
            .expect("read")
    }

    async fn live_tokens(&self, user_id: &str) -> usize {
        self.token_rows(user_id)
            .await
            .iter()
            .filter(|token| token.revoked_at.is_none())
            .count()
    }

    async fn attempts(&self, user_id: &str) -> i64 {
        let mut tx = self.db.begin_read().await.expect("begun");
        qm_db::value!(&mut tx, i64, ATTEMPTS, user_id)
            .await
            .expect("read")
    }
}

/// A caller with the claims of their token.
struct Who {
    principal: Principal,
    client: ClientInfo,
}

impl Who {
    fn claiming(id: &str, roles: &[Role]) -> Self {
        let principal = Principal {
            user_id: id.into(),
            username: "whoever".into(),
            roles: roles.to_vec(),
            permissions: roles.iter().flat_map(|role| role.permissions()).collect(),
            expires_at: Timestamp::from_ms(i64::MAX),
        };
        Self {
            principal,
            client: client(),
        }
    }

    fn caller(&self) -> Caller<'_> {
        Caller {
            principal: &self.principal,
            client: &self.client,
        }
    }
}

impl AuditRow {
    fn metadata(&self) -> Value {
        self.metadata
            .as_deref()
            .map_or(Value::Null, |text| serde_json::from_str(text).expect("JSON"))
    }
}

fn admin() -> FirstAdmin {
    FirstAdmin {
        username: "admin".to_owned(),
        email: "admin@example.org".to_owned(),
        password: Some(Secret::new(PASSWORD)),
    }
}

fn client() -> ClientInfo {
    ClientInfo {
        ip: IpAddr::V4(Ipv4Addr::new(203, 0, 113, 9)),
        forwarded: "198.51.100.1, 203.0.113.9".to_owned(),
        user_agent: Some("a browser".to_owned()),
        request_id: "0123456789abcdef".to_owned(),
    }
}

/// The text of an expected failure.
fn failure<T>(result: Result<T, IdentityError>) -> String {
    match result {
        Ok(_) => panic!("expected a failure"),
        Err(error) => error.to_string(),
    }
}

qm_db::db_test! {
    async fn every_statement_is_taken(db: Db) {
        qm_db::testing::prepare_all(&db).await;
    }
}
