//! Automation action `notify`, which sends a notice.
//!
//! Recipients are the rule's author, or all holders of a permission; notifying others takes `users.manage`. A
//! repeated run notifies nobody twice: the notice carries the id of the run.

use std::sync::Arc;

use async_trait::async_trait;
use qm_db::DbError;
use qm_kernel::Permission;
use qm_kernel::event::DomainEvent;
use qm_platform::ActingError;
use qm_ports::action::{ActionCall, ActionError, ActionKind, Actions, HOUSE, Occasion};
use serde_json::{Value, json};

use super::Notifications;
use crate::model::catalogue::NOTICE;
use crate::model::template::fill;

const NOTIFY: &str = "notify";
/// Permission to notify other users.
const TELLS_OTHERS: Permission = Permission::UsersManage;
/// Value of `recipients` for the rule's author alone.
const AUTHOR: &str = "author";
/// Largest number of characters of a template.
const MAX_TEMPLATE: usize = 500;

#[async_trait]
impl Actions for Notifications {
    fn actions(&self) -> Vec<ActionKind> {
        let text = |about: &str| json!({ "type": "string", "maxLength": MAX_TEMPLATE, "description": about });
        let mut title = text("Title. `{name}` stands for the field `name` of the torrent or the event.");
        title["minLength"] = 1.into();
        vec![ActionKind {
            id: NOTIFY.to_owned(),
            label: "Send a notification".to_owned(),
            category: "notification".to_owned(),
            occasions: vec![Occasion::Torrent, Occasion::Media, Occasion::Event],
            params_schema: json!({
                "type": "object",
                "properties": {
                    "title": title,
                    "text": text("One sentence below the title, with the same placeholders."),
                    "to": { "type": "string", "default": AUTHOR, "description":
                        "`author`: whoever wrote the rule. Or a permission, e.g. `torrents.view`: all who hold it, for which the author needs users.manage." },
                },
                "required": ["title"],
            }),
            idempotent: true,
            needs: vec![Permission::NotificationsViewOwn],
            plugin: HOUSE.to_owned(),
        }]
    }

    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError> {
        if action != NOTIFY {
            return Err(ActionError::Unknown(action.to_owned()));
        }
        let notice = Notice::read(&call)?;
        let Some(me) = self.me.upgrade() else {
            return Err(ActionError::Rejected("The server ends".to_owned()));
        };
        let sent = me.send_notice(&call, notice).await;
        sent.map_err(|error| ActionError::Rejected(format!("The notice could not be stored: {error}")))?
    }
}

/// Parameters of the action.
struct Notice {
    title: String,
    text: Option<String>,
    /// Holders of this permission; `None`: the author.
    holders: Option<Permission>,
}

impl Notice {
    fn read(call: &ActionCall) -> Result<Self, ActionError> {
        let invalid = |text: String| ActionError::InvalidParams(text);
        let given = |name: &str| match call.params.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.chars().count() > MAX_TEMPLATE => Err(invalid(format!(
                "{name} must be shorter than or equal to {MAX_TEMPLATE} characters"
            ))),
            Some(Value::String(text)) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
            Some(_) => Err(invalid(format!("{name} must be a string"))),
        };
        let filled = |text: &str| fill(text, &call.context).map_err(invalid);
        let title = given("title")?.ok_or_else(|| invalid("title is required".to_owned()))?;
        let holders = match given("to")? {
            None | Some(AUTHOR) => None,
            Some(key) => Some(Permission::from_key(key).ok_or_else(|| {
                invalid(format!(
                    "to must be `{AUTHOR}` or a permission, e.g. torrents.view; `{key}` is neither"
                ))
            })?),
        };
        Ok(Self {
            title: filled(title)?,
            text: given("text")?.map(filled).transpose()?,
            holders,
        })
    }
}

impl Notifications {
    /// Sends a notice to its recipients. The outer error is the database's.
    async fn send_notice(
        self: &Arc<Self>,
        call: &ActionCall,
        notice: Notice,
    ) -> Result<Result<(), ActionError>, DbError> {
        let Some(author) = &call.author else {
            let why = "Nobody is known to have written the rule, so nobody can be told".to_owned();
            return Ok(Err(ActionError::Rejected(why)));
        };
        let mut tx = self.db.begin_write().await?;
        let people = match notice.holders {
            None => self.people.find(&mut tx, author).await?.into_iter().collect(),
            Some(permission) => {
                let may = match self.acting.powers(&mut tx, author).await {
                    Ok(powers) => powers.contains(TELLS_OTHERS),
                    Err(ActingError::Database(error)) => return Err(error),
                    Err(_) => false,
                };
                if !may {
                    let why = format!(
                        "The rule's author may not tell others (permission {} is missing)",
                        TELLS_OTHERS.key()
                    );
                    return Ok(Err(ActionError::Rejected(why)));
                }
                self.people.holders(&mut tx, permission).await?
            }
        };
        let torrent = call.torrent.as_ref();
        let event = DomainEvent {
            // The same id for the same run: recipients are not notified again.
            id: call.run_id.clone(),
            event_key: NOTICE.key.into(),
            occurred_at: self.ctx.now(),
            actor_user_id: None,
            subject_user_id: Some(author.clone()),
            resource_type: torrent.map(|_| "torrent".into()),
            resource_id: torrent.map(|torrent| torrent.hash.clone()),
            payload: json!({ "noticeTitle": notice.title, "noticeText": notice.text }),
            correlation_id: None,
            causation_id: None,
        };
        self.tell_people(&mut tx, &NOTICE, &event, people).await?;
        tx.commit().await?;
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use qm_db::{Db, db_test};
    use qm_kernel::PageQuery;
    use qm_kernel::PermissionSet;
    use serde_json::Map;

    use super::*;
    use crate::model::inbox::{Item, Wanted};
    use crate::testing::{House, caller};

    fn call(run: &str, author: Option<&str>, params: Value) -> ActionCall {
        ActionCall {
            run_id: run.to_owned(),
            occasion: Occasion::Torrent,
            params: params.as_object().cloned().unwrap_or_default(),
            context: Map::from_iter([
                ("name".to_owned(), json!("a.mkv")),
                ("ratio".to_owned(), json!(2)),
            ]),
            torrent: None,
            author: author.map(str::to_owned),
            powers: PermissionSet::empty(),
        }
    }

    async fn inbox(house: &House, name: &str) -> Vec<Item> {
        let page = PageQuery {
            page: 1,
            page_size: 100,
        };
        house
            .app
            .inbox(&caller(name), &Wanted::default(), page)
            .await
            .unwrap()
            .0
    }

    db_test! {
        async fn a_rule_tells_its_author_or_all_who_hold_a_permission_once(db: Db) {
            let house = House::new(&db).await;
            let own = json!({ "title": "{name} is done", "text": "ratio {ratio}" });
            for _ in 0..2 {
                house.app.run(NOTIFY, call("r.0", Some("ada"), own.clone())).await.unwrap();
            }
            let told = inbox(&house, "ada").await;
            assert_eq!(told.iter().map(|item| &*item.title).collect::<Vec<_>>(), ["a.mkv is done"], "tried again, told once");
            let card = told[0].presentation.as_ref().unwrap();
            assert_eq!((card.context.as_deref(), told[0].category.as_str()), (Some("ratio 2"), "workflows"));
            assert!(inbox(&house, "bob").await.is_empty());
            let all = json!({ "title": "look", "to": "torrents.view" });
            house.app.run(NOTIFY, call("r.1", Some("ada"), all)).await.unwrap();
            for name in ["ada", "bob"] {
                assert!(inbox(&house, name).await.iter().any(|item| item.title == "look"), "{name}");
            }
            // Different parameters are a different run.
            for (params, said) in [
                (json!({}), "title is required"),
                (json!({ "title": 5 }), "title must be a string"),
                (json!({ "title": "{nothing}" }), "no field `nothing`"),
                (json!({ "title": "x", "to": "everybody" }), "`everybody` is neither"),
                (json!({ "title": "x".repeat(501) }), "500 characters"),
            ] {
                let refused = house.app.run(NOTIFY, call("r.2", Some("ada"), params)).await.unwrap_err();
                assert!(refused.to_string().contains(said), "{refused}");
            }
            let nobodys = house.app.run(NOTIFY, call("r.3", None, json!({ "title": "x" }))).await;
            assert!(nobodys.unwrap_err().to_string().contains("Nobody is known"));
            house.set_active("ada", false).await;
            house.app.run(NOTIFY, call("r.4", Some("ada"), json!({ "title": "late" }))).await.unwrap();
            assert!(inbox(&house, "bob").await.iter().all(|item| item.title != "late"));
        }
    }
}
