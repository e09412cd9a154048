//! Order in which providers are asked.

use qm_ports::metadata::{LookupKind, ProviderKind};

/// Name of the merge of all providers.
pub const UNIVERSAL: &str = "universal";
const SHOWS: [&str; 2] = ["provider_b", "provider_a"];
const OTHERS: [&str; 2] = ["provider_a", "provider_b"];

/// Ids of the `usable` providers (those with a key) for titles of this kind. A chosen order names all that
/// are asked; without one the known ones come first, and others follow by id.
pub fn order(kind: LookupKind, chosen: &[String], usable: &[ProviderKind]) -> Vec<String> {
    let knows = |id: &str| {
        let mut all = usable.iter();
        all.any(|provider| provider.id == id && provider.kinds.contains(&kind.title_kind()))
    };
    let mut chain: Vec<String> = Vec::new();
    let mut add = |id: &str| {
        if knows(id) && !chain.iter().any(|other| other == id) {
            chain.push(id.to_owned());
        }
    };
    if chosen.is_empty() {
        let known = if kind.is_show() { SHOWS } else { OTHERS };
        known.into_iter().for_each(&mut add);
        let mut ids: Vec<&str> = usable.iter().map(|provider| &*provider.id).collect();
        ids.sort_unstable();
        ids.into_iter().for_each(&mut add);
    } else {
        for id in chosen {
            add(id.trim());
        }
    }
    chain
}

#[cfg(test)]
mod tests {
    use qm_ports::metadata::TitleKind;
    use serde_json::Value;

    use super::*;

    fn provider(id: &str, kinds: &[TitleKind]) -> ProviderKind {
        ProviderKind {
            id: id.to_owned(),
            label: String::new(),
            version: String::new(),
            config_schema: Value::Null,
            kinds: kinds.to_vec(),
            abilities: Vec::new(),
            find_sources: Vec::new(),
        }
    }

    #[test]
    fn orders() {
        let both = [TitleKind::Movie, TitleKind::Show];
        let usable = [
            provider("zoo", &both),
            provider("provider_a", &both),
            provider("librarian", &[TitleKind::Movie]),
            provider("provider_b", &both),
        ];
        for (kind, chosen, expected) in [
            (LookupKind::Tv, &[][..], &["provider_b", "provider_a", "zoo"][..]),
            (LookupKind::Anime, &[], &["provider_b", "provider_a", "zoo"]),
            (
                LookupKind::Movie,
                &[],
                &["provider_a", "provider_b", "librarian", "zoo"],
            ),
            (
                LookupKind::General,
                &[],
                &["provider_a", "provider_b", "librarian", "zoo"],
            ),
            (
                LookupKind::Tv,
                &["zoo", "librarian", " provider_a", "zoo", "gone"],
                &["zoo", "provider_a"],
            ),
            (LookupKind::Movie, &["librarian"], &["librarian"]),
            (LookupKind::Movie, &["gone"], &[]),
        ] {
            let chosen: Vec<String> = chosen.iter().map(|id| (*id).to_owned()).collect();
            assert_eq!(order(kind, &chosen, &usable), expected, "{kind:?} {chosen:?}");
        }
        assert!(order(LookupKind::Tv, &[], &[]).is_empty());
    }
}
