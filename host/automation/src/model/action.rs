//! Lookup of a rule's action among the actions of plugins, and its fit with the rule's trigger.

use std::collections::HashMap;

use qm_ports::action::{ActionKind, Occasion};
use qm_ports::placeholders;
use serde_json::{Map, Value};

use super::rule::{Rule, type_of, types_of};
use super::trigger::{SCHEDULE, occasion};

/// An action that rules use, as its plugin last declared it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownAction {
    pub id: String,
    pub label: String,
    pub category: String,
    pub plugin: String,
}

impl From<&ActionKind> for KnownAction {
    fn from(kind: &ActionKind) -> Self {
        Self {
            id: kind.id.clone(),
            label: kind.label.clone(),
            category: kind.category.clone(),
            plugin: kind.plugin.clone(),
        }
    }
}

/// Available actions, and the plugins of those that are gone.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    kinds: HashMap<String, ActionKind>,
    known: HashMap<String, KnownAction>,
}

impl Catalogue {
    pub fn new(kinds: Vec<ActionKind>, known: Vec<KnownAction>) -> Self {
        Self {
            kinds: kinds.into_iter().map(|kind| (kind.id.clone(), kind)).collect(),
            known: known
                .into_iter()
                .map(|action| (action.id.clone(), action))
                .collect(),
        }
    }

    pub fn get(&self, id: &str) -> Option<&ActionKind> {
        self.kinds.get(id)
    }

    /// An action that was available before, and its plugin.
    pub fn known(&self, id: &str) -> Option<&KnownAction> {
        self.known.get(id)
    }

    /// Warnings about parameters unknown to the action.
    pub fn unknown_params(&self, action: &Value) -> Vec<String> {
        let id = type_of(action);
        let properties = self.get(id).and_then(|kind| kind.params_schema.get("properties"));
        let (Some(Value::Object(known)), Some(Value::Object(given))) = (properties, action.get("params"))
        else {
            return Vec::new();
        };
        let unknown = given.keys().filter(|name| !known.contains_key(*name));
        unknown
            .map(|name| {
                let known: Vec<&str> = known.keys().map(String::as_str).collect();
                let known = if known.is_empty() {
                    "it takes none".to_owned()
                } else {
                    format!("it takes {}", known.join(", "))
                };
                format!("The action \"{id}\" has no parameter \"{name}\": {known}")
            })
            .collect()
    }

    /// A sentence about an unknown placeholder, in a parameter that may have placeholders.
    pub fn unknown_placeholder(&self, action: &Value) -> Option<String> {
        let id = type_of(action);
        let properties = self.get(id)?.params_schema.get("properties")?.as_object()?;
        let given = action.get("params")?;
        properties.iter().find_map(|(name, schema)| {
            let why = match schema.get(placeholders::MARK)? {
                Value::Bool(true) => placeholders::unknown(given.get(name)?.as_str()?)?,
                Value::String(mark) if mark == placeholders::TEXT => {
                    placeholders::unknown(given.get(name)?.as_str()?)?
                }
                Value::String(mark) if mark == placeholders::JSON => {
                    placeholders::unknown_in_json(given.get(name).filter(|param| !param.is_null())?)?
                }
                _ => return None,
            };
            Some(format!("The parameter \"{name}\" of action \"{id}\": {why}"))
        })
    }

    /// A sentence about a parameter whose schema lists words, and that is none of them.
    pub fn unknown_word(&self, action: &Value) -> Option<String> {
        let id = type_of(action);
        let properties = self.get(id)?.params_schema.get("properties")?.as_object()?;
        let given = action.get("params")?;
        properties.iter().find_map(|(name, schema)| {
            let words = schema.get("enum")?.as_array()?;
            let param = given.get(name)?;
            if param.is_null() || words.contains(param) {
                return None;
            }
            let words: Vec<String> = words.iter().map(Value::to_string).collect();
            let words = words.join(", ");
            Some(format!(
                "The parameter \"{name}\" of action \"{id}\" must be one of {words}"
            ))
        })
    }

    /// Parameters of an action, with the placeholders of those that are JSON or a text filled by the context of a run.
    ///
    /// # Errors
    /// A sentence about a placeholder that is unknown; a rule stored before its plugin said so may have one.
    pub fn filled(&self, action: &Value, context: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut params = params_of(action);
        let id = type_of(action);
        let properties = self
            .get(id)
            .and_then(|kind| kind.params_schema.get("properties")?.as_object());
        for (name, schema) in properties.into_iter().flatten() {
            let Some(param) = params.get_mut(name).filter(|param| !param.is_null()) else {
                continue;
            };
            let mark = schema.get(placeholders::MARK).and_then(Value::as_str);
            let filled = match (mark, &*param) {
                (Some(placeholders::JSON), param) => placeholders::filled_json(param, context),
                (Some(placeholders::TEXT), Value::String(text)) => {
                    placeholders::filled_text(text, context).map(Value::from)
                }
                _ => continue,
            };
            *param = filled.map_err(|why| format!("The parameter \"{name}\" of action \"{id}\": {why}"))?;
        }
        Ok(params)
    }

    /// Kind of a rule's context, which decides about the possible actions.
    pub fn occasion_of(&self, rule: &Rule) -> Occasion {
        let used = types_of(&rule.actions).into_iter();
        if rule.trigger == SCHEDULE && self.concerns_torrents(rule.asks_torrents(), used) {
            Occasion::Torrent
        } else {
            occasion(&rule.trigger)
        }
    }

    /// True when a rule with a time table runs for each torrent whose conditions hold, and not once for each due time: it asks
    /// for a field of torrents, or one of its actions cannot follow an event without a torrent. Nothing is known of an action
    /// whose plugin is not loaded: a rule with it fails once, not for each torrent. While plugins are being loaded, ask later.
    pub fn concerns_torrents<'a>(
        &self,
        asks_torrents: bool,
        mut actions: impl Iterator<Item = &'a str>,
    ) -> bool {
        let needs_torrent = |kind: &ActionKind| !kind.occasions.contains(&Occasion::Event);
        asks_torrents || actions.any(|id| self.get(id).is_some_and(needs_torrent))
    }

    /// Reason why an action cannot run after this kind of trigger; `None`: it can.
    pub fn refuses(&self, action: &Value, occasion: Occasion) -> Option<String> {
        let id = type_of(action);
        let for_no_event = || format!("Action \"{id}\" is not valid for an event trigger");
        let Some(kind) = self.get(id) else {
            let gone = self.known(id).map_or_else(String::new, |known| {
                format!(
                    " (it was provided by the plugin `{}`, which is not loaded)",
                    known.plugin
                )
            });
            return Some(match occasion {
                Occasion::Event => for_no_event() + &gone,
                Occasion::Torrent | Occasion::Media => format!("Unknown action type: {id}{gone}"),
            });
        };
        if kind.occasions.contains(&occasion) {
            return match action.get("params") {
                None | Some(Value::Null | Value::Object(_)) => None,
                Some(_) => Some(format!("The params of action \"{id}\" are no object")),
            };
        }
        Some(match (occasion, kind.occasions.contains(&Occasion::Event)) {
            (Occasion::Event, _) => for_no_event(),
            // Made for events only.
            (Occasion::Torrent | Occasion::Media, true) => format!("Unknown action type: {id}"),
            (Occasion::Torrent | Occasion::Media, false) => {
                format!(
                    "Action \"{id}\" is only valid for a {} trigger",
                    word(&kind.occasions)
                )
            }
        })
    }
}

fn word(occasions: &[Occasion]) -> &'static str {
    if occasions.contains(&Occasion::Torrent) {
        "torrent"
    } else {
        "media"
    }
}

/// Parameters of an action that was accepted.
pub fn params_of(action: &Value) -> Map<String, Value> {
    action
        .get("params")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kind(id: &str, occasions: &[Occasion]) -> ActionKind {
        ActionKind {
            id: id.into(),
            label: id.into(),
            category: "c".into(),
            occasions: occasions.to_vec(),
            params_schema: json!({}),
            idempotent: false,
            needs: vec![qm_kernel::Permission::AutomationManage],
            plugin: format!("plugin-of-{id}"),
        }
    }

    #[test]
    fn actions_follow_the_triggers_they_are_made_for() {
        use Occasion::{Event, Media, Torrent};
        let gone = KnownAction {
            id: "gone".into(),
            label: "Gone".into(),
            category: "c".into(),
            plugin: "left".into(),
        };
        let catalogue = Catalogue::new(
            vec![
                kind("pause", &[Torrent]),
                kind("webhook", &[Torrent, Media, Event]),
                kind("media_note", &[Torrent, Media]),
                kind("disable_rss_rule", &[Event]),
            ],
            vec![gone],
        );
        for (action, occasion, expected) in [
            (json!({ "type": "pause" }), Torrent, None),
            (json!({ "type": "pause", "params": {} }), Torrent, None),
            (json!({ "type": "pause", "params": null }), Torrent, None),
            (
                json!({ "type": "pause", "params": [] }),
                Torrent,
                Some("The params of action \"pause\" are no object"),
            ),
            (
                json!({ "type": "pause" }),
                Media,
                Some("Action \"pause\" is only valid for a torrent trigger"),
            ),
            (
                json!({ "type": "pause" }),
                Event,
                Some("Action \"pause\" is not valid for an event trigger"),
            ),
            (json!({ "type": "webhook" }), Event, None),
            (json!({ "type": "media_note" }), Media, None),
            (
                json!({ "type": "media_note" }),
                Event,
                Some("Action \"media_note\" is not valid for an event trigger"),
            ),
            (
                json!({ "type": "disable_rss_rule" }),
                Torrent,
                Some("Unknown action type: disable_rss_rule"),
            ),
            (
                json!({ "type": "nonsense" }),
                Torrent,
                Some("Unknown action type: nonsense"),
            ),
            (
                json!({ "type": "nonsense" }),
                Media,
                Some("Unknown action type: nonsense"),
            ),
            (
                json!({ "type": "nonsense" }),
                Event,
                Some("Action \"nonsense\" is not valid for an event trigger"),
            ),
            (json!({}), Torrent, Some("Unknown action type: undefined")),
            (json!("pause"), Torrent, Some("Unknown action type: undefined")),
            (
                json!({ "type": "gone" }),
                Torrent,
                Some("Unknown action type: gone (it was provided by the plugin `left`, which is not loaded)"),
            ),
        ] {
            assert_eq!(
                catalogue.refuses(&action, occasion).as_deref(),
                expected,
                "{action} {occasion:?}"
            );
        }
    }
}
