//! Description of the actions of a plugin, on its way into the catalogue: checked once, when the plugin is loaded.
//!
//! Bounds: 64 actions, a schema of 16 KiB without references (what refers to itself can cost more to judge by than anybody
//! has), one line for each name.

use std::collections::BTreeSet;

use qm_kernel::Permission;
use qm_plugin_host::role::About;
use qm_plugin_host::role::capability;
use qm_plugin_host::role::one_line;
use qm_ports::action::{ActionKind, Occasion};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::vetted::{is_id, is_line, object_schema};

/// Where the actions stand in the traits of a plugin.
const ACTIONS: &str = "actions";
const MAX_ACTIONS: usize = 64;

/// An action as its plugin tells it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PluginAction {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) category: String,
    pub(super) occasions: Vec<String>,
    /// JSON, as text until it was read.
    pub(super) params_schema: Value,
    pub(super) idempotent: bool,
    /// Keys of the permissions that it stands for, with spaces between; none: it declares none.
    #[serde(default)]
    pub(super) permissions: Option<String>,
}

/// Name of the pair among an action's `extra` by which a plugin declares the permissions that it stands for.
pub(super) const PERMISSIONS: &str = "permissions";

/// Permissions that actions of first-party plugins stand for: those of the routes that do the same.
const FIRST_PARTY: &[(&str, &str, Permission)] = &[
    ("torrent_actions", "move", Permission::TorrentsMove),
    ("torrent_actions", "pause", Permission::TorrentsPause),
    ("torrent_actions", "stop", Permission::TorrentsStop),
    ("torrent_actions", "delete", Permission::TorrentsDelete),
    (
        "torrent_actions",
        "delete_with_data",
        Permission::TorrentsDeleteData,
    ),
    ("webhook", "webhook", Permission::AutomationManage),
];

/// Permissions that a capability may be used for, at most: an action that declares nothing stands for all of it.
const CAPABILITIES: &[(&str, &[Permission])] = &[
    (
        capability::TORRENTS,
        &[
            Permission::TorrentsPause,
            Permission::TorrentsStop,
            Permission::TorrentsStart,
            Permission::TorrentsMove,
            Permission::TorrentsDelete,
            Permission::TorrentsDeleteData,
            Permission::CategoriesManage,
            Permission::TagsManage,
        ],
    ),
    (
        capability::MEDIA,
        &[
            Permission::MediaManagerView,
            Permission::MediaManagerManageLibraries,
            Permission::MediaManagerScan,
            Permission::MediaManagerMatch,
            Permission::MediaManagerEditMetadata,
            Permission::MediaManagerManageIntegrations,
        ],
    ),
];

/// The permissions that an action stands for: by the host's table, else as its plugin declares, else all that its plugin may
/// use. Never empty.
fn needs(about: &About, told: &PluginAction) -> Vec<Permission> {
    let mut first_party = FIRST_PARTY.iter();
    if let Some((_, _, need)) = first_party.find(|(plugin, id, _)| *plugin == about.id && *id == told.id) {
        return vec![*need];
    }
    let declared = told.permissions.as_deref().unwrap_or_default();
    let mut needs: Vec<Permission> = declared
        .split_whitespace()
        .filter_map(Permission::from_key)
        .collect();
    if needs.is_empty() {
        let asked = CAPABILITIES
            .iter()
            .filter(|(word, _)| about.capabilities.iter().any(|asked| asked == word));
        needs.extend(asked.flat_map(|(_, all)| all.iter().copied()));
    }
    if needs.is_empty() {
        needs.push(Permission::AutomationManage);
    }
    needs
}

const OCCASIONS: &[(&str, Occasion)] = &[
    ("torrent", Occasion::Torrent),
    ("media", Occasion::Media),
    ("event", Occasion::Event),
];

/// The word for an occasion.
pub(super) fn word(occasion: Occasion) -> &'static str {
    match occasion {
        Occasion::Torrent => "torrent",
        Occasion::Media => "media",
        Occasion::Event => "event",
    }
}

/// The actions as traits.
pub(super) fn traits(told: &[PluginAction]) -> Map<String, Value> {
    let all = told
        .iter()
        .map(|told| serde_json::to_value(told).unwrap_or_default());
    Map::from_iter([(ACTIONS.to_owned(), Value::Array(all.collect()))])
}

fn listed(traits: &Map<String, Value>) -> &[Value] {
    traits
        .get(ACTIONS)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The ids of what the plugin provides.
pub(super) fn ids(traits: &Map<String, Value>) -> impl Iterator<Item = &str> {
    listed(traits).iter().filter_map(|told| told.get("id")?.as_str())
}

/// The action of this id as the plugin provides it.
pub(super) fn kind(about: &About, id: &str) -> Option<ActionKind> {
    let mut all = listed(&about.traits).iter();
    let found = all.find(|told| told.get("id").and_then(Value::as_str) == Some(id))?;
    let told: PluginAction = serde_json::from_value(found.clone()).ok()?;
    let occasion = |word: &String| {
        OCCASIONS
            .iter()
            .find(|(known, _)| known == word)
            .map(|(_, occasion)| *occasion)
    };
    let needs = needs(about, &told);
    Some(ActionKind {
        occasions: told.occasions.iter().filter_map(occasion).collect(),
        params_schema: told.params_schema,
        needs,
        idempotent: told.idempotent,
        plugin: about.id.clone(),
        id: told.id,
        label: told.label,
        category: told.category,
    })
}

/// Reads the schema of an action's parameters.
pub(super) fn schema(id: &str, text: &str) -> Result<Value, String> {
    object_schema(&format!("the schema of the parameters of `{id}`"), text)
}

/// Checks what a plugin says of its actions; a schema that is a text was not read yet.
pub(super) fn vet(traits: &Map<String, Value>) -> Result<(), String> {
    let all = listed(traits);
    if all.is_empty() || all.len() > MAX_ACTIONS {
        return Err(format!("it must provide 1 to {MAX_ACTIONS} actions"));
    }
    let mut ids = BTreeSet::new();
    for told in all {
        let told: PluginAction = serde_json::from_value(told.clone()).map_err(|error| error.to_string())?;
        let id = told.id.as_str();
        if !is_id(id) {
            return Err("the id of an action must be 1 to 64 lower-case letters, digits and `_`".to_owned());
        }
        if !ids.insert(told.id.clone()) {
            return Err(format!("it provides the action `{id}` twice"));
        }
        if !is_line(&told.label, 80) || !is_line(&told.category, 40) {
            return Err(format!(
                "the label and the category of `{id}` must be one line of 1 to 80 and 1 to 40 characters"
            ));
        }
        if !told
            .occasions
            .iter()
            .any(|said| OCCASIONS.iter().any(|(known, _)| known == said))
        {
            return Err(format!(
                "the action `{id}` follows no trigger that this host knows"
            ));
        }
        let mut declared = told.permissions.as_deref().unwrap_or_default().split_whitespace();
        if let Some(unknown) = declared.find(|key| Permission::from_key(key).is_none()) {
            return Err(format!(
                "the action `{id}` declares the permission `{}`, which this host does not know",
                one_line(unknown, 64)
            ));
        }
        if let Value::String(why) = &told.params_schema {
            return Err(why.clone());
        }
    }
    Ok(())
}

/// The texts among `params` that the schema calls secret, or that are called `password`, however deep they are.
pub(super) fn secrets(schema: &Value, params: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in params {
        collect(
            &schema["properties"][name.as_str()],
            value,
            name == "password",
            &mut found,
        );
    }
    found
}

fn collect(schema: &Value, value: &Value, secret: bool, found: &mut Vec<String>) {
    let secret = secret || schema["writeOnly"] == Value::Bool(true);
    match value {
        Value::String(text) if secret => found.push(text.clone()),
        Value::Number(number) if secret => found.push(number.to_string()),
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect(&schema["items"], item, secret, found)),
        Value::Object(members) => {
            for (name, inner) in members {
                let secret = secret || name == "password";
                collect(&schema["properties"][name.as_str()], inner, secret, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn new_action(id: &str) -> PluginAction {
        PluginAction {
            id: id.to_owned(),
            label: "Move".to_owned(),
            category: "torrent".to_owned(),
            occasions: vec!["torrent".to_owned(), "tea_time".to_owned()],
            params_schema: json!({ "type": "object" }),
            idempotent: true,
            permissions: None,
        }
    }

    fn about(plugin: &str, capabilities: &[&str], all: &[PluginAction]) -> About {
        About {
            id: plugin.to_owned(),
            label: "A plugin".to_owned(),
            version: "1".to_owned(),
            config_schema: json!({}),
            capabilities: capabilities.iter().map(|word| (*word).to_owned()).collect(),
            hosts: Vec::new(),
            asks: Vec::new(),
            traits: traits(all),
        }
    }

    #[test]
    fn an_action_stands_for_what_is_declared_or_for_all_that_it_may_use() {
        use Permission as P;
        let declaring = |permissions: &str| PluginAction {
            permissions: Some(permissions.to_owned()),
            ..new_action("move")
        };
        let needs = |plugin: &str, capabilities: &[&str], told: PluginAction| {
            let found = kind(&about(plugin, capabilities, &[told]), "move");
            found.unwrap().needs
        };
        let torrents = ["torrents"];
        assert_eq!(
            needs("torrent_actions", &torrents, new_action("move")),
            [P::TorrentsMove],
            "by the host's table"
        );
        assert_eq!(
            needs("other", &torrents, declaring("torrents.pause  tags.manage")),
            [P::TorrentsPause, P::TagsManage]
        );
        for silent in [new_action("move"), declaring(""), declaring("  ")] {
            let all = needs("other", &torrents, silent);
            assert!(all.contains(&P::TorrentsDeleteData) && all.contains(&P::TorrentsMove));
        }
        let both = needs("other", &["torrents", "media"], new_action("move"));
        assert!(both.contains(&P::TorrentsDeleteData) && both.contains(&P::MediaManagerManageLibraries));
        for capabilities in [&[][..], &["http-guarded"][..], &["kv", "mail"][..]] {
            assert_eq!(
                needs("other", capabilities, new_action("move")),
                [P::AutomationManage]
            );
        }
        let why = vet(&traits(&[declaring("torrents.pause torrents.explode")])).unwrap_err();
        assert!(
            why.contains("`torrents.explode`") && why.contains("`move`"),
            "{why}"
        );
    }

    /// A row that no action has would be a promise that nobody keeps.
    #[test]
    fn the_hosts_table_names_each_action_once() {
        let named: BTreeSet<_> = FIRST_PARTY.iter().map(|(plugin, id, _)| (plugin, id)).collect();
        assert_eq!(named.len(), FIRST_PARTY.len());
    }

    #[test]
    fn what_is_told_is_checked() {
        assert_eq!(vet(&traits(&[new_action("move"), new_action("stop")])), Ok(()));
        assert!(vet(&traits(&[])).is_err());
        let many: Vec<_> = (0..65).map(|n| new_action(&format!("a{n}"))).collect();
        assert!(vet(&traits(&many)).unwrap_err().contains("64"));
        assert_eq!(vet(&traits(&many[..64])), Ok(()));
        assert!(
            vet(&traits(&[new_action("move"), new_action("move")]))
                .unwrap_err()
                .contains("twice")
        );
        let refused: [(fn(&mut PluginAction), &str); 8] = [
            (|told| told.id = "Move".into(), "id"),
            (|told| told.id = String::new(), "id"),
            (|told| told.id = "a".repeat(65), "id"),
            (|told| told.label = "two\nlines".into(), "label"),
            (|told| told.label = "turned \u{202e}".into(), "label"),
            (|told| told.category = "x".repeat(41), "category"),
            (|told| told.occasions = vec!["tea_time".into()], "trigger"),
            (
                |told| told.params_schema = json!("its schema is bad"),
                "its schema is bad",
            ),
        ];
        for (change, about) in refused {
            let mut one = new_action("move");
            change(&mut one);
            let error = vet(&traits(&[one])).unwrap_err();
            assert!(error.contains(about), "{error}");
        }
    }

    #[test]
    fn an_unknown_occasion_is_left_out() {
        let about = about("p", &[], &[new_action("move")]);
        let kind = kind(&about, "move").unwrap();
        assert_eq!(
            (kind.occasions, kind.plugin.as_str()),
            (vec![Occasion::Torrent], "p")
        );
        assert!(super::kind(&about, "stop").is_none());
    }

    #[test]
    fn schemas_are_objects_without_references() {
        assert!(schema("a", r#"{"type":"object","properties":{"x":{"type":"string"}}}"#).is_ok());
        for (text, about) in [
            ("{", "no JSON"),
            (r#"{"type":"array"}"#, "object"),
            (
                r##"{"type":"object","properties":{"x":{"allOf":[{"$ref":"#"}]}}}"##,
                "reference",
            ),
        ] {
            let error = schema("a", text).unwrap_err();
            assert!(error.contains(about) && error.contains("`a`"), "{error}");
        }
        let large = format!(r#"{{"type":"object","title":"{}"}}"#, "x".repeat(16 << 10));
        assert!(schema("a", &large).unwrap_err().contains("16 KiB"));
    }

    #[test]
    fn secrets_are_found_at_any_depth() {
        let schema = json!({ "properties": {
            "token": { "writeOnly": true },
            "plain": {},
            "login": { "properties": { "password": { "writeOnly": true }, "user": {} } },
            "named": { "properties": { "password": {} } },
            "keys": { "writeOnly": true },
        } });
        let params = json!({
            "token": "t0ken", "plain": "seen", "login": { "password": "hunter22", "user": "me" },
            "named": { "password": "by its name" },
            "keys": ["k1", { "deep": 4711 }], "other": "seen",
        });
        let mut found = secrets(&schema, params.as_object().unwrap());
        found.sort();
        assert_eq!(found, ["4711", "by its name", "hunter22", "k1", "t0ken"]);
    }
}
