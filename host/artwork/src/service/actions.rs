//! Action of automation that fetches pictures of an item.
//!
//! It acts for the rule's author, whose permissions are judged before each run, and again when a picture is stored. A run waits
//! for its job, and fails with it.

use async_trait::async_trait;
use qm_kernel::Requester;
use qm_ports::action::{ActionCall, ActionError, ActionKind, Actions, HOUSE, Occasion};
use serde_json::{Map, Value, json};

use super::{ArtworkArea, NEEDED};
use crate::error::ArtworkError;

const FETCH: &str = "media_fetch_artwork";

#[async_trait]
impl Actions for ArtworkArea {
    fn actions(&self) -> Vec<ActionKind> {
        vec![ActionKind {
            id: FETCH.to_owned(),
            label: "Fetch pictures of a media item".to_owned(),
            category: "media".to_owned(),
            // Its parameters say what it is about, so that it may follow an event without a torrent, and a time table.
            occasions: vec![Occasion::Torrent, Occasion::Media, Occasion::Event],
            params_schema: json!({
                "type": "object",
                "properties": { "itemId": { "type": "string", "description": "Id of the item." } },
                "required": ["itemId"],
            }),
            idempotent: true,
            needs: vec![NEEDED],
            plugin: HOUSE.to_owned(),
        }]
    }

    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError> {
        if action != FETCH {
            return Err(ActionError::Unknown(action.to_owned()));
        }
        if !call.powers.contains(NEEDED) {
            return Err(ActionError::Denied(format!("it needs {}", NEEDED.key())));
        }
        let Some(author) = call.author else {
            return Err(ActionError::Denied(
                "nobody is known to have asked for it".to_owned(),
            ));
        };
        let item = item_of(&call.params)?;
        let who = Requester::absent(&author, call.powers, &call.run_id);
        let fetching = self.import_for_item(who.caller(), &item);
        let imported = qm_lanes::on_behalf(author.as_str().into(), fetching).await;
        // Without a provider, or without the item's id there, nothing is fetched, and that is no fault.
        let imported = imported.map_err(|error| refused(&error))?.unwrap_or_default();
        match imported.failed.first() {
            Some((kind, why)) if imported.kinds.is_empty() => {
                Err(ActionError::Rejected(format!("{}: {why}", kind.as_str())))
            }
            _ => Ok(()),
        }
    }
}

fn item_of(params: &Map<String, Value>) -> Result<String, ActionError> {
    let text = match params.get("itemId") {
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    if text.is_empty() {
        return Err(ActionError::InvalidParams("itemId is required".to_owned()));
    }
    // No database keeps a NUL, and no id has one.
    if text.contains('\0') {
        return Err(refused(&ArtworkError::NoSuchItem));
    }
    Ok(text)
}

fn refused(error: &ArtworkError) -> ActionError {
    use ArtworkError as E;
    let text = error.to_string();
    match error {
        E::NoSuchItem => ActionError::NotFound(text),
        E::Silent(..) | E::Unsettled(_) | E::Subjects(_) | E::Database(_) => ActionError::Unreachable(text),
        E::Lane(_) => ActionError::Busy,
        _ => ActionError::Rejected(text),
    }
}
