//! Use cases of this area.

use std::sync::Arc;

use qm_db::{DbError, Tx};
use qm_kernel::{Caller, Principal};
use qm_platform::{Actor, AuditEntry, Ground};

use crate::error::ViewsError;
use crate::model::{MAX_VIEWS, Settings, View};
use crate::repo;

/// Saved views of all users.
pub struct Views {
    ground: Ground,
}

impl Views {
    pub fn new(ground: Ground) -> Arc<Self> {
        Arc::new(Self { ground })
    }

    /// Views of the caller, in the order of their names.
    pub async fn list_views(&self, principal: &Principal) -> Result<Vec<View>, ViewsError> {
        let mut tx = self.ground.db.begin_read().await?;
        Ok(repo::list(&mut tx, &principal.user_id).await?)
    }

    /// Saves a view of the caller.
    pub async fn add_view(
        &self,
        caller: Caller<'_>,
        name: String,
        settings: Settings,
    ) -> Result<View, ViewsError> {
        let now = self.ground.ctx.now();
        let view = View {
            id: self.ground.ctx.ordered_id(),
            name,
            settings,
            created_at: now,
            updated_at: now,
        };
        let mut tx = self.ground.db.begin_write().await?;
        // The lock on the caller's row makes the count hold until the commit.
        let actor = self.ground.acting.judge(&mut tx, caller.principal, &[]).await?;
        if repo::count(&mut tx, actor.user_id()).await? >= MAX_VIEWS {
            return Err(ViewsError::TooMany);
        }
        let added = repo::add(&mut tx, actor.user_id(), &view).await;
        added.map_err(|error| name_taken(error, &view))?;
        self.commit(tx, caller, &actor, "torrents.views.create", &view)
            .await?;
        Ok(view)
    }

    /// Replaces the name and the settings of a view of the caller.
    pub async fn change_view(
        &self,
        caller: Caller<'_>,
        id: &str,
        name: String,
        settings: Settings,
    ) -> Result<View, ViewsError> {
        let mut tx = self.ground.db.begin_write().await?;
        let actor = self.ground.acting.judge(&mut tx, caller.principal, &[]).await?;
        let known = repo::find(&mut tx, actor.user_id(), id)
            .await?
            .ok_or(ViewsError::NoSuchView)?;
        let view = View {
            name,
            settings,
            updated_at: self.ground.ctx.now(),
            ..known
        };
        let changed = repo::change(&mut tx, actor.user_id(), &view).await;
        changed.map_err(|error| name_taken(error, &view))?;
        self.commit(tx, caller, &actor, "torrents.views.update", &view)
            .await?;
        Ok(view)
    }

    /// Deletes a view of the caller, and returns it.
    pub async fn remove_view(&self, caller: Caller<'_>, id: &str) -> Result<View, ViewsError> {
        let mut tx = self.ground.db.begin_write().await?;
        let actor = self.ground.acting.judge(&mut tx, caller.principal, &[]).await?;
        let view = repo::find(&mut tx, actor.user_id(), id)
            .await?
            .ok_or(ViewsError::NoSuchView)?;
        repo::remove(&mut tx, actor.user_id(), id).await?;
        self.commit(tx, caller, &actor, "torrents.views.delete", &view)
            .await?;
        Ok(view)
    }

    /// Commits a change with its audit row.
    async fn commit(
        &self,
        mut tx: Tx,
        caller: Caller<'_>,
        actor: &Actor,
        action: &'static str,
        view: &View,
    ) -> Result<(), ViewsError> {
        let entry = AuditEntry {
            object_type: Some("torrent_view"),
            object_id: Some(view.id.clone()),
            ..actor.entry(action, caller.client)
        };
        self.ground.audit.record(&mut tx, entry).await?;
        Ok(tx.commit().await?)
    }
}

/// The name is the only thing that may be taken.
fn name_taken(error: DbError, view: &View) -> ViewsError {
    if error.is_unique_violation() {
        ViewsError::NameTaken(view.name.clone())
    } else {
        error.into()
    }
}

#[cfg(test)]
mod tests {
    use qm_db::Db;
    use qm_kernel::{Ctx, Role};
    use qm_platform::testing::{self, Claims};
    use qm_test_base::{client, principal};
    use serde_json::json;

    use super::*;

    qm_db::sql! {
        ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
            VALUES ($1, $1, $1, '', 0, 0)";
        DELETE_USER = "DELETE FROM users WHERE id = $1";
    }

    fn settings() -> Settings {
        Settings {
            filter: Some(json!([{ "field": "ratio", "op": "gte", "value": 2 }])),
            columns: vec!["name".to_owned(), "ratio".to_owned()],
            ..Settings::default()
        }
    }

    #[test]
    fn settings_of_an_older_release_are_read() {
        for (stored, direction) in [
            (json!({ "sortBy": "ratio", "isDescending": true }), None),
            (json!({ "sortBy": "ratio", "isDescending": false }), Some("asc")),
            (json!({ "sortBy": "ratio", "sortDir": "desc" }), Some("desc")),
            (json!({ "sortBy": "ratio", "sortDir": null }), None),
        ] {
            let settings: Settings = serde_json::from_value(stored).unwrap();
            let expected = Settings {
                sort_by: Some("ratio".to_owned()),
                sort_dir: direction.map(str::to_owned),
                ..Settings::default()
            };
            assert_eq!(settings, expected);
        }
    }

    qm_db::db_test! {
        async fn a_user_keeps_views_and_others_do_not_see_them(db: Db) {
            let mut tx = db.begin_write().await.unwrap();
            for id in ["u", "other"] {
                qm_db::exec!(&mut tx, ADD_USER, id).await.unwrap().exactly(1).unwrap();
            }
            tx.commit().await.unwrap();
            let ground = testing::ground(&db, &Ctx::system(), Arc::new(Claims));
            let views = Views::new(ground);
            let (mine, client) = (principal(Role::User), client());
            let mut theirs = mine.clone();
            theirs.user_id = "other".into();
            let (me, they) = (Caller { principal: &mine, client: &client }, Caller { principal: &theirs, client: &client });
            let seeded = views.add_view(me, "Seeded".to_owned(), settings()).await.unwrap();
            let alone = views.add_view(me, "Alone".to_owned(), Settings { filter: None, ..settings() }).await.unwrap();
            assert_eq!(views.list_views(&mine).await.unwrap(), [alone.clone(), seeded.clone()]);
            assert_eq!(views.list_views(&theirs).await.unwrap(), []);

            // The same name is refused for one user, and free for another.
            let again = views.add_view(me, "Seeded".to_owned(), settings()).await.unwrap_err();
            assert!(matches!(&again, ViewsError::NameTaken(name) if name == "Seeded"), "{again}");
            let renamed = views.change_view(me, &alone.id, "Seeded".to_owned(), settings()).await.unwrap_err();
            assert!(matches!(renamed, ViewsError::NameTaken(_)), "{renamed}");
            let _ = views.add_view(they, "Seeded".to_owned(), settings()).await.unwrap();

            // A view of another user is as if it did not exist.
            for error in [
                views.change_view(they, &alone.id, "Taken".to_owned(), settings()).await.unwrap_err(),
                views.remove_view(they, &alone.id).await.unwrap_err(),
            ] {
                assert!(matches!(error, ViewsError::NoSuchView), "{error}");
            }
            let changed = views.change_view(me, &alone.id, "B".to_owned(), Settings { sort_dir: Some("asc".to_owned()), ..settings() }).await.unwrap();
            assert_eq!((&*changed.name, changed.settings.sort_dir.as_deref(), &changed.id), ("B", Some("asc"), &alone.id));
            assert_eq!(views.remove_view(me, &alone.id).await.unwrap(), changed);
            assert_eq!(views.list_views(&mine).await.unwrap(), [seeded]);
        }

        async fn views_are_bounded_and_end_with_their_user(db: Db) {
            let mut tx = db.begin_write().await.unwrap();
            qm_db::exec!(&mut tx, ADD_USER, "u").await.unwrap().exactly(1).unwrap();
            tx.commit().await.unwrap();
            let views = Views::new(testing::ground(&db, &Ctx::system(), Arc::new(Claims)));
            let (mine, client) = (principal(Role::User), client());
            let me = Caller { principal: &mine, client: &client };
            for n in 0..MAX_VIEWS {
                let _ = views.add_view(me, n.to_string(), settings()).await.unwrap();
            }
            assert!(matches!(views.add_view(me, "one more".to_owned(), settings()).await, Err(ViewsError::TooMany)));
            let mut tx = db.begin_write().await.unwrap();
            qm_db::exec!(&mut tx, DELETE_USER, "u").await.unwrap().exactly(1).unwrap();
            tx.commit().await.unwrap();
            assert_eq!(views.list_views(&mine).await.unwrap(), []);
        }
    }
}
