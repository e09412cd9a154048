//! Use cases of this area.

use std::sync::Arc;

use qm_kernel::{Caller, Permission, Principal};
use qm_platform::{ActingError, Actor, AuditEntry, AuditResult, Ground, judge_alone};
use qm_ports::preferences::ClientPreferences;
use serde_json::{Map, Value, json};

use crate::error::PreferencesError;
use crate::model::{Offer, Shown};

/// Permission that reading and changing need.
pub const NEEDED: Permission = Permission::EnginesManage;

/// Preferences of the clients of all engines.
pub struct Preferences {
    ground: Ground,
    clients: Arc<dyn ClientPreferences>,
}

impl Preferences {
    pub fn new(ground: Ground, clients: Arc<dyn ClientPreferences>) -> Arc<Self> {
        Arc::new(Self { ground, clients })
    }

    /// Asks the client for what it offers and what is set.
    pub async fn read(&self, principal: &Principal, engine_id: &str) -> Result<Shown, PreferencesError> {
        let _ = self.judge(principal, &[NEEDED]).await?;
        let told = self.clients.read_preferences(engine_id).await?;
        Ok(Shown {
            offer: Offer::new(&told.schema),
            values: told.values,
        })
    }

    /// Changes what is named, and answers how everything is then.
    pub async fn change(
        &self,
        caller: Caller<'_>,
        engine_id: &str,
        changes: Map<String, Value>,
    ) -> Result<Shown, PreferencesError> {
        let mut actor = self.judge(caller.principal, &[NEEDED]).await?;
        let told = self.clients.read_preferences(engine_id).await?;
        let offer = Offer::new(&told.schema);
        let judged = offer.judge(&changes);
        let judged = judged.map_err(|refused| PreferencesError::of_refusal(refused, &told.engine))?;
        if judged.changes.is_empty() {
            return Ok(Shown {
                offer,
                values: told.values,
            });
        }
        if judged.removes {
            // The client would do it for the caller.
            let needed = [NEEDED, Permission::TorrentsDelete];
            actor = self.judge(caller.principal, &needed).await?;
        }
        let keys: Vec<String> = judged.changes.keys().cloned().collect();
        let changed = self
            .clients
            .change_preferences(engine_id, judged.changes, &judged.directories)
            .await;
        let mut metadata = json!({ "name": told.engine, "keys": keys });
        let result = match &changed {
            Ok(()) => AuditResult::Success,
            Err(error) => {
                metadata["code"] = error.code.into();
                AuditResult::Failure
            }
        };
        let entry = AuditEntry {
            object_type: Some("torrent_engine"),
            object_id: Some(engine_id.to_owned()),
            result,
            metadata: Some(metadata),
            ..actor.entry("engines.preferences", caller.client)
        };
        self.ground.audit.record_alone(&self.ground.db, entry).await;
        changed?;
        let told = self.clients.read_preferences(engine_id).await?;
        Ok(Shown {
            offer: Offer::new(&told.schema),
            values: told.values,
        })
    }

    /// Checks that the caller still may; no transaction is open while a client is asked.
    async fn judge(&self, principal: &Principal, needed: &[Permission]) -> Result<Actor, ActingError> {
        judge_alone(&*self.ground.acting, &self.ground.db, principal, needed).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use qm_db::Db;
    use qm_kernel::{Ctx, ErrorKind, Role};
    use qm_platform::AuditTrail;
    use qm_platform::testing::{self, Claims};
    use qm_ports::preferences::{PreferencesError as Told, ToldPreferences};
    use qm_test_base::{client, principal};

    use super::*;

    /// A client in memory.
    #[derive(Default)]
    struct FakeClient {
        changes: Mutex<Vec<(Map<String, Value>, Vec<String>)>>,
        refusal: Mutex<Option<Told>>,
    }

    #[async_trait]
    impl ClientPreferences for FakeClient {
        async fn read_preferences(&self, engine_id: &str) -> Result<ToldPreferences, Told> {
            if engine_id != "e" {
                return Err(Told {
                    kind: ErrorKind::NotFound,
                    code: "not_found.engine_unavailable",
                    message: format!("Engine {engine_id} is not available"),
                });
            }
            let mut values = Map::from_iter([
                ("slots".to_owned(), json!(4)),
                ("vault".to_owned(), json!("geheim")),
                ("webUiPassword".to_owned(), json!("geheim")),
            ]);
            for (changes, _) in &*self.changes.lock().unwrap() {
                values.extend(changes.clone());
            }
            Ok(ToldPreferences {
                engine: "The client".to_owned(),
                schema: json!({
                    "type": "object",
                    "properties": {
                        "slots": { "type": "integer", "minimum": 1 },
                        "atLimit": { "type": "string", "enum": ["stop", "remove"] },
                        "savePath": { "type": "string", "x-path": "directory" },
                        "vault": { "type": "string", "writeOnly": true },
                        "webUiPassword": { "type": "string" },
                    },
                }),
                values,
            })
        }

        async fn change_preferences(
            &self,
            _engine_id: &str,
            changes: Map<String, Value>,
            directories: &[String],
        ) -> Result<(), Told> {
            if let Some(refusal) = self.refusal.lock().unwrap().clone() {
                return Err(refusal);
            }
            self.changes.lock().unwrap().push((changes, directories.to_vec()));
            Ok(())
        }
    }

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    async fn audited(db: &Db) -> Vec<(String, String, Value)> {
        let mut tx = db.begin_read().await.unwrap();
        let rows = AuditTrail::newest(&mut tx, 10).await.unwrap();
        let told = rows.into_iter().rev().map(|row| {
            let object = row.object_id.unwrap_or_default();
            (
                format!("{} {}", row.action, row.result),
                object,
                row.metadata.unwrap_or_default(),
            )
        });
        told.collect()
    }

    qm_db::db_test! {
        async fn changes_reach_the_client_and_the_audit_trail_by_their_keys(db: Db) {
            let fake = Arc::new(FakeClient::default());
            let app = Preferences::new(testing::ground(&db, &Ctx::system(), Arc::new(Claims)), fake.clone());
            let (admin, client) = (principal(Role::Administrator), client());
            let by = Caller { principal: &admin, client: &client };
            let shown = app.read(&admin, "e").await.unwrap();
            let keys: Vec<&str> = shown.offer.preferences.iter().map(|one| one.key.as_str()).collect();
            assert!(keys.contains(&"slots") && !keys.contains(&"webUiPassword"), "{keys:?}");

            let shown = app.change(by, "e", object(json!({ "slots": 9, "savePath": "/d", "vault": "new secret" }))).await.unwrap();
            assert_eq!(shown.values.get("slots"), Some(&json!(9)));
            let (changes, directories) = fake.changes.lock().unwrap()[0].clone();
            assert_eq!((Value::Object(changes), directories), (json!({ "slots": 9, "savePath": "/d", "vault": "new secret" }), vec!["savePath".to_owned()]));

            // One that does not fit, and nothing is changed.
            let refused = app.change(by, "e", object(json!({ "slots": 0, "atLimit": "stop" }))).await.err().unwrap();
            assert_eq!((refused.to_string().as_str(), refused.kind()), ("slots must not be less than 1", ErrorKind::BadRequest));
            let fenced = app.change(by, "e", object(json!({ "webUiPassword": "x" }))).await.err().unwrap();
            assert!(fenced.to_string().starts_with("webUiPassword is not changed from here"), "{fenced}");
            let unknown = app.change(by, "x", object(json!({ "slots": 5 }))).await.err().unwrap();
            assert_eq!(unknown.code(), "not_found.engine_unavailable");
            // A mask alone changes nothing.
            let _ = app.change(by, "e", object(json!({ "vault": qm_kernel::secret::MASK }))).await.unwrap();
            assert_eq!(fake.changes.lock().unwrap().len(), 1);

            *fake.refusal.lock().unwrap() = Some(Told {
                kind: ErrorKind::BadRequest,
                code: "bad_request.engine_refused",
                message: "The client refused".to_owned(),
            });
            let refused = app.change(by, "e", object(json!({ "slots": 7 }))).await.err().unwrap();
            assert_eq!(refused.code(), "bad_request.engine_refused");
            let audited = audited(&db).await;
            assert_eq!(audited.len(), 2, "{audited:?}");
            assert_eq!(audited[0], ("engines.preferences success".to_owned(), "e".to_owned(),
                json!({ "name": "The client", "keys": ["savePath", "slots", "vault"] })));
            assert_eq!(audited[1], ("engines.preferences failure".to_owned(), "e".to_owned(),
                json!({ "name": "The client", "keys": ["slots"], "code": "bad_request.engine_refused" })));
        }

        async fn what_the_caller_may_not_do_the_client_does_not_do_for_them(db: Db) {
            let fake = Arc::new(FakeClient::default());
            let app = Preferences::new(testing::ground(&db, &Ctx::system(), Arc::new(Claims)), fake.clone());
            let client = client();
            let user = principal(Role::User);
            let error = app.read(&user, "e").await.err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Forbidden);
            let mut keeper = principal(Role::Administrator);
            keeper.permissions = [NEEDED].into_iter().collect();
            let by = Caller { principal: &keeper, client: &client };
            let _ = app.change(by, "e", object(json!({ "atLimit": "stop" }))).await.unwrap();
            let refused = app.change(by, "e", object(json!({ "atLimit": "remove" }))).await.err().unwrap();
            assert_eq!((refused.kind(), refused.to_string().contains("torrents.delete")), (ErrorKind::Forbidden, true), "{refused}");
            let admin = principal(Role::Administrator);
            let by = Caller { principal: &admin, client: &client };
            let _ = app.change(by, "e", object(json!({ "atLimit": "remove" }))).await.unwrap();
            assert_eq!(fake.changes.lock().unwrap().len(), 2);
        }
    }
}
