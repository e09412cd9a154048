//! Action of automation that writes notes.
//!
//! It acts for the rule's author, whose permissions are judged before each run, and again before each note. A run waits for its
//! job, and fails with it; of a library, notes that cannot be written are left out, and the job names them.

use async_trait::async_trait;
use qm_kernel::Requester;
use qm_ports::action::{ActionCall, ActionError, ActionKind, Actions, HOUSE, Occasion};
use serde_json::{Map, Value, json};

use super::{NEEDED, Nfo};
use crate::error::NfoError;
use crate::model::MAX_OF_LIBRARY;

const GENERATE: &str = "media_generate_nfo";

#[async_trait]
impl Actions for Nfo {
    fn actions(&self) -> Vec<ActionKind> {
        vec![ActionKind {
            id: GENERATE.to_owned(),
            label: "Write notes (NFO) about media".to_owned(),
            category: "media".to_owned(),
            // Its parameters say what it is about, so that it may follow an event without a torrent, and a time table.
            occasions: vec![Occasion::Torrent, Occasion::Media, Occasion::Event],
            params_schema: json!({
                "type": "object",
                "properties": {
                    "itemId": { "type": "string", "description": "Id of the item. A locked one is refused." },
                    "libraryId": { "type": "string", "description": "Id of the library, about whose unlocked items notes are written, if no item is named." },
                    "overwrite": { "type": "boolean", "description": "True: what is known here replaces what somebody else wrote." },
                },
            }),
            idempotent: true,
            needs: vec![NEEDED],
            plugin: HOUSE.to_owned(),
        }]
    }

    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError> {
        if action != GENERATE {
            return Err(ActionError::Unknown(action.to_owned()));
        }
        if !call.powers.contains(NEEDED) {
            return Err(ActionError::Denied(format!("it needs {}", NEEDED.key())));
        }
        let Some(author) = call.author.clone() else {
            return Err(ActionError::Denied(
                "nobody is known to have asked for it".to_owned(),
            ));
        };
        let who = Requester::absent(&author, call.powers, &call.run_id);
        let work = self.generate_for_a_rule(&who, &call.params);
        qm_lanes::on_behalf(author.as_str().into(), work).await
    }
}

impl Nfo {
    async fn generate_for_a_rule(
        &self,
        who: &Requester,
        params: &Map<String, Value>,
    ) -> Result<(), ActionError> {
        let overwrite = params.get("overwrite") == Some(&Value::Bool(true));
        let (ids, is_one) = match (text(params, "itemId"), text(params, "libraryId")) {
            (Some(item), _) => (self.find_item_of_rule(item).await?, true),
            (None, Some(library)) => (self.find_items_of_rule(&library).await?, false),
            (None, None) => {
                let why = "itemId or libraryId is required".to_owned();
                return Err(ActionError::InvalidParams(why));
            }
        };
        let carried = self.generate_awaited(who, ids, overwrite).await;
        let carried = carried.map_err(|error| refused(&error))?;
        match carried.first {
            Some(why) if is_one => Err(ActionError::Rejected(why)),
            _ => Ok(()),
        }
    }

    async fn find_item_of_rule(&self, id: String) -> Result<Vec<String>, ActionError> {
        // No database keeps a NUL, and no id has one.
        let known = if id.contains('\0') {
            Vec::new()
        } else {
            let known = self.notes.list_known(&[id]).await;
            known.map_err(|error| refused(&error.into()))?
        };
        if known.is_empty() {
            return Err(refused(&NfoError::NoSuchItem));
        }
        Ok(known)
    }

    async fn find_items_of_rule(&self, library_id: &str) -> Result<Vec<String>, ActionError> {
        if library_id.contains('\0') {
            return Err(refused(&NfoError::NoSuchLibrary));
        }
        let finding = async {
            let library = self.notes.find_noted_library(library_id).await?;
            if !library.ok_or(NfoError::NoSuchLibrary)?.nfo_enabled {
                return Err(NfoError::Disabled);
            }
            let ids = self.notes.list_unlocked(library_id, MAX_OF_LIBRARY + 1).await?;
            if ids.len() > MAX_OF_LIBRARY {
                return Err(NfoError::TooLarge);
            }
            Ok::<_, NfoError>(ids)
        };
        finding.await.map_err(|error| refused(&error))
    }
}

/// Parameter as a text; a number becomes its digits, and an empty text is none.
fn text(params: &Map<String, Value>, name: &str) -> Option<String> {
    let text = match params.get(name)? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn refused(error: &NfoError) -> ActionError {
    use NfoError as E;
    let text = error.to_string();
    match error {
        E::NoSuchItem | E::NoSuchLibrary => ActionError::NotFound(text),
        E::Notes(_) | E::Database(_) => ActionError::Unreachable(text),
        E::Lane(_) => ActionError::Busy,
        _ => ActionError::Rejected(text),
    }
}
