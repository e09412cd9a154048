//! Description of the product that a plugin speaks to: checked once, when the plugin is loaded.

use qm_plugin_host::role::About;
use qm_ports::media_server::{MediaServerKind, ServerAbilities};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::vetted::{is_line, only_base_url};

/// Where it stands in the traits of a plugin.
const PRODUCT: &str = "product";

/// A product as its plugin tells it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PluginProduct {
    pub(super) platform: String,
    pub(super) abilities: ServerAbilities,
    /// Fault of the schema of its configuration.
    pub(super) complaint: Option<String>,
}

impl PluginProduct {
    /// With what is wrong with the schema of a configuration, as text.
    pub(super) fn new(platform: String, abilities: ServerAbilities, schema: &str) -> Self {
        let schema: Value = serde_json::from_str(schema).unwrap_or_default();
        Self {
            platform,
            abilities,
            complaint: only_base_url("the schema of the configuration", &schema).err(),
        }
    }
}

/// It as traits.
pub(super) fn traits(told: &PluginProduct) -> Map<String, Value> {
    let told = serde_json::to_value(told).unwrap_or_default();
    Map::from_iter([(PRODUCT.to_owned(), told)])
}

pub(super) fn read(traits: &Map<String, Value>) -> PluginProduct {
    let told = traits.get(PRODUCT).cloned().unwrap_or_default();
    serde_json::from_value(told).unwrap_or_default()
}

/// The product that a plugin describes.
pub(super) fn kind(about: About) -> MediaServerKind {
    let told = read(&about.traits);
    MediaServerKind {
        id: about.id,
        label: about.label,
        version: about.version,
        config_schema: about.config_schema,
        platform: told.platform,
        abilities: told.abilities,
    }
}

/// Checks what a plugin says of its product.
pub(super) fn vet(traits: &Map<String, Value>) -> Result<(), String> {
    let told = read(traits);
    if let Some(complaint) = told.complaint {
        return Err(complaint);
    }
    if !is_line(&told.platform, 80) {
        return Err("its platform must be one line of 1 to 80 characters".to_owned());
    }
    let ServerAbilities {
        refresh,
        refresh_library,
        refresh_path,
        ..
    } = told.abilities;
    if (refresh_library || refresh_path) && !refresh {
        return Err("what refreshes a library or a folder must offer `refresh` too".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"type":"object","properties":{"baseUrl":{"type":"string","x-grant":"http-url"}}}"#;

    fn all() -> ServerAbilities {
        ServerAbilities {
            refresh: true,
            refresh_path: true,
            ..ServerAbilities::default()
        }
    }

    #[test]
    fn what_is_told_is_checked() {
        let vet_of = |told: &PluginProduct| vet(&traits(told));
        assert_eq!(
            vet_of(&PluginProduct::new("Plex Media Server".to_owned(), all(), GOOD)),
            Ok(())
        );
        assert!(vet(&Map::new()).is_err());
        let nameless = PluginProduct::new(String::new(), all(), GOOD);
        assert!(vet_of(&nameless).unwrap_err().contains("platform"));
        let narrow = ServerAbilities {
            refresh: false,
            ..all()
        };
        let narrow = PluginProduct::new("Kodi".to_owned(), narrow, GOOD);
        assert!(vet_of(&narrow).unwrap_err().contains("`refresh`"));
        let second = GOOD.replace("}}}", r#"},"host":{"type":"string","x-grant":"http-url"}}}"#);
        for schema in ["{}", "no JSON", &second] {
            let error = vet_of(&PluginProduct::new("Kodi".to_owned(), all(), schema)).unwrap_err();
            assert!(error.contains("baseUrl"), "{schema}: {error}");
        }
    }
}
