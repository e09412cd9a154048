//! Description of the provider that a plugin asks: checked once, when the plugin is loaded.

use qm_plugin_host::role::About;
use qm_ports::metadata::{Ability, ProviderKind, TitleKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::vetted::is_id;

/// Where it stands in the traits of a plugin.
const ANSWERS: &str = "answers";
/// The most sources of ids; the WIT says so.
const MAX_SOURCES: usize = 16;

/// Kinds and abilities of a provider, as its plugin gives them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PluginProvider {
    pub(super) kinds: Vec<TitleKind>,
    pub(super) abilities: Vec<Ability>,
    pub(super) find_sources: Vec<String>,
}

/// It as traits.
pub(super) fn traits(told: &PluginProvider) -> Map<String, Value> {
    let told = serde_json::to_value(told).unwrap_or_default();
    Map::from_iter([(ANSWERS.to_owned(), told)])
}

pub(super) fn read(traits: &Map<String, Value>) -> PluginProvider {
    let told = traits.get(ANSWERS).cloned().unwrap_or_default();
    serde_json::from_value(told).unwrap_or_default()
}

/// The provider that a plugin describes.
pub(super) fn kind(about: About) -> ProviderKind {
    let told = read(&about.traits);
    ProviderKind {
        id: about.id,
        label: about.label,
        version: about.version,
        config_schema: about.config_schema,
        kinds: told.kinds,
        abilities: told.abilities,
        find_sources: told.find_sources,
    }
}

/// Checks what a plugin says of its provider.
pub(super) fn vet(traits: &Map<String, Value>) -> Result<(), String> {
    let told = read(traits);
    if told.kinds.is_empty() {
        return Err("it must know films, shows or both".to_owned());
    }
    if told.abilities.is_empty() {
        return Err("it must answer something: none of its abilities is set".to_owned());
    }
    if told.find_sources.len() > MAX_SOURCES {
        return Err(format!(
            "it must take ids of at most {MAX_SOURCES} sources, not of {}",
            told.find_sources.len()
        ));
    }
    if !told.find_sources.iter().all(|source| is_id(source)) {
        return Err("a source of ids must be 1 to 64 lower-case letters, digits and `_`".to_owned());
    }
    if told.find_sources.is_empty() == told.abilities.contains(&Ability::Find) {
        return Err("it must name the sources of ids that it finds titles by, and no others".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> PluginProvider {
        PluginProvider {
            kinds: vec![TitleKind::Movie],
            abilities: vec![Ability::Search, Ability::Find],
            find_sources: vec!["titledb".to_owned()],
        }
    }

    #[test]
    fn what_is_told_is_checked() {
        assert_eq!(vet(&traits(&good())), Ok(()));
        assert_eq!(read(&traits(&good())).find_sources, ["titledb"]);
        assert!(vet(&Map::new()).is_err());
        let refused: [(fn(&mut PluginProvider), &str); 6] = [
            (|told| told.kinds.clear(), "films"),
            (|told| told.abilities.clear(), "abilities"),
            (|told| told.find_sources = vec!["IMDb id".into()], "lower-case"),
            (|told| told.find_sources = vec!["a".into(); 17], "16"),
            (|told| told.find_sources.clear(), "name the sources"),
            (|told| told.abilities = vec![Ability::Search], "no others"),
        ];
        for (change, about) in refused {
            let mut told = good();
            change(&mut told);
            let error = vet(&traits(&told)).unwrap_err();
            assert!(error.contains(about), "{error}");
        }
    }
}
