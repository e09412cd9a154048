//! Actions of automation that name files.
//!
//! They act for the rule's author, whose permissions are judged before each run, and again while files move; their share of the
//! lanes is the author's. A run waits for the end of its rename, and is in its history, so that people can undo it.

use async_trait::async_trait;
use qm_kernel::Requester;
use qm_ports::action::{ActionCall, ActionError, ActionKind, Actions, HOUSE, Occasion};
use qm_rename_plan::Mode;
use serde_json::{Map, Value, json};

use super::items::Manner;
use super::{RENAMES, Rename};
use crate::error::RenameError;
use crate::model::request::{Named, Request, Wanted};

const RENAME: &str = "media_rename";
const MOVE: &str = "media_move";
const FOR_MEDIA: &str = "rename_for_media";

#[async_trait]
impl Actions for Rename {
    fn actions(&self) -> Vec<ActionKind> {
        let of_items = json!({
            "type": "object",
            "properties": {
                "itemId": { "type": "string", "description": "Id of the item. A locked one is refused." },
                "libraryId": { "type": "string", "description": "Id of the library, whose unlocked items are named, if no item is." },
                "torrentHash": { "type": "string", "description": "Torrent that the history names as the origin." },
            },
        });
        vec![
            ActionKind {
                // A second copy of a file gets a name of its own.
                idempotent: false,
                ..kind(
                    RENAME,
                    "Name the files of media by the rules of their library",
                    of_items.clone(),
                )
            },
            kind(
                MOVE,
                "Move the files of media to the names of their library",
                of_items,
            ),
            ActionKind {
                occasions: vec![Occasion::Torrent, Occasion::Media],
                idempotent: false,
                ..kind(
                    FOR_MEDIA,
                    "Name the files of a torrent for a library",
                    for_media(),
                )
            },
        ]
    }

    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError> {
        if ![RENAME, MOVE, FOR_MEDIA].contains(&action) {
            return Err(ActionError::Unknown(action.to_owned()));
        }
        if !call.powers.contains(RENAMES) {
            return Err(ActionError::Denied(format!("it needs {}", RENAMES.key())));
        }
        let Some(author) = call.author.clone() else {
            return Err(ActionError::Denied(
                "nobody is known to have asked for it".to_owned(),
            ));
        };
        let who = Requester::absent(&author, call.powers, &call.run_id);
        let work = async {
            if action == FOR_MEDIA {
                self.rename_for_a_rule(&who, &call).await
            } else {
                let mode = (action == MOVE).then_some(Mode::RenameMove);
                self.rename_items_for_a_rule(&who, &call.params, mode).await
            }
        };
        qm_lanes::on_behalf(author.as_str().into(), work).await
    }
}

fn kind(id: &str, label: &str, params_schema: Value) -> ActionKind {
    ActionKind {
        id: id.to_owned(),
        label: label.to_owned(),
        category: "media".to_owned(),
        // Its parameters say what it is about, so that it may follow an event without a torrent, and a time table.
        occasions: vec![Occasion::Torrent, Occasion::Media, Occasion::Event],
        params_schema,
        idempotent: true,
        needs: vec![RENAMES],
        plugin: HOUSE.to_owned(),
    }
}

/// Schema of the parameters of [`FOR_MEDIA`].
fn for_media() -> Value {
    json!({
        "type": "object",
        "properties": {
            "libraryPath": { "type": "string", "description": "Directory into which the files are named." },
            "preset": { "type": "string", "description": "`plex` (the default), `jellyfin`, `emby`, `kodi`, `custom`, or the id of a stored preset." },
            "mode": { "type": "string", "enum": Mode::WORDS, "description": "`hardlink` if it is left out." },
            "template": { "type": "string", "description": "Template in place of those of the preset." },
        },
        "required": ["libraryPath"],
    })
}

impl Rename {
    async fn rename_items_for_a_rule(
        &self,
        who: &Requester,
        params: &Map<String, Value>,
        mode: Option<Mode>,
    ) -> Result<(), ActionError> {
        let app = self.myself().map_err(refused)?;
        let manner = Manner {
            mode,
            torrent_hash: text(params, "torrentHash"),
        };
        match (text(params, "itemId"), text(params, "libraryId")) {
            (Some(item), _) => {
                let named = app.rename_item(who, &item, manner).await.map_err(refused)?;
                check_one(named)
            }
            (None, Some(library)) => {
                // Items that keep their names are in the history, and in the job's result.
                let named = app.rename_library(who, &library, manner).await.map_err(refused)?;
                tracing::debug!(
                    library,
                    items = named.items,
                    applied = named.applied,
                    failed = named.failed.len(),
                    "a rule had a library named"
                );
                if named.is_cancelled {
                    return Err(ActionError::Rejected("the rename was cancelled".to_owned()));
                }
                Ok(())
            }
            (None, None) => Err(ActionError::InvalidParams(
                "itemId or libraryId is required".to_owned(),
            )),
        }
    }

    async fn rename_for_a_rule(&self, who: &Requester, call: &ActionCall) -> Result<(), ActionError> {
        let torrent = call.torrent.as_ref().ok_or_else(|| {
            ActionError::InvalidParams(format!("The action \"{FOR_MEDIA}\" needs a torrent"))
        })?;
        let mode = match text(&call.params, "mode") {
            None => Mode::Hardlink,
            Some(word) => Mode::from_word(&word).ok_or_else(|| {
                let words = Mode::WORDS.join(", ");
                ActionError::InvalidParams(format!("mode must be one of {words}: \"{word}\" is not"))
            })?,
        };
        let library = text(&call.params, "libraryPath");
        let library = library.ok_or_else(|| refused(RenameError::NoLibraryPath))?;
        let wanted = Wanted {
            request: Request {
                library: Some(library),
                hash: Some(torrent.hash.clone()),
                engine_id: Some(torrent.engine_id.clone()),
                preset: text(&call.params, "preset").unwrap_or_else(|| "plex".to_owned()),
                mode,
                template: text(&call.params, "template"),
                ..Request::default()
            },
            label: text(&call.context, "name"),
            ..Wanted::default()
        };
        let app = self.myself().map_err(refused)?;
        let outcome = app.apply(who, wanted).await.map_err(refused)?.outcome;
        if outcome.failed > 0 && outcome.applied == 0 {
            let first = outcome.problems.into_iter().map(|problem| problem.message).next();
            let why = first.unwrap_or_else(|| "no file could be renamed".to_owned());
            return Err(ActionError::Rejected(why));
        }
        Ok(())
    }
}

/// Fails if nothing was done for an item that keeps a name it should not have.
fn check_one(named: Named) -> Result<(), ActionError> {
    match named.failed.into_iter().next() {
        Some((_, why)) if named.applied == 0 => Err(ActionError::Rejected(why)),
        _ => Ok(()),
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

fn refused(error: RenameError) -> ActionError {
    use ActionError as A;
    use RenameError as E;
    let text = error.to_string();
    match error {
        E::NoSuchItem | E::NoSuchLibrary | E::NoSuchTorrent | E::NoSuchPreset => A::NotFound(text),
        E::NoLibraryPath | E::LibraryPath(_) | E::Template(..) => A::InvalidParams(text),
        E::Shelves(_) | E::Database(_) | E::Broken(_) => A::Unreachable(text),
        E::Lane(_) => A::Busy,
        _ => A::Rejected(text),
    }
}
