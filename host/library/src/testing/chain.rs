//! Providers of metadata that a test makes up.

use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;
use qm_ports::metadata::{
    Alone, ExternalId, Lookup, LookupKind, Metadata, MetadataChain, Rated, Silent, TitleKind, Told, Unsettled,
};

/// Answer of the providers about a title.
#[derive(Clone)]
pub enum Say {
    /// Ids of `provider_a`; several: they are equally likely.
    Ids(Vec<&'static str>),
    Silence,
}

#[derive(Default)]
pub struct Chain {
    pub providers: Mutex<Vec<String>>,
    /// By title; nothing is known of any other.
    pub says: Mutex<HashMap<&'static str, Say>>,
    pub asked: Mutex<Vec<String>>,
}

impl Chain {
    /// # Panics
    /// When a test has failed that holds it.
    pub fn says(&self, title: &'static str, say: Say) {
        *self.providers.lock().expect("whole") = vec!["provider_a".to_owned()];
        self.says.lock().expect("whole").insert(title, say);
    }
}

#[async_trait]
impl MetadataChain for Chain {
    async fn chain(&self, _: LookupKind) -> Result<Vec<String>, Unsettled> {
        Ok(self.providers.lock().expect("whole").clone())
    }

    async fn details(&self, lookup: &Lookup) -> Result<Told, Unsettled> {
        self.asked.lock().expect("whole").push(lookup.title.clone());
        let says = self.says.lock().expect("whole").get(&*lookup.title).cloned();
        let id = |id: &str| ExternalId {
            source: "provider_a".to_owned(),
            id: id.to_owned(),
        };
        let mut told = Told::default();
        match says {
            None => {}
            Some(Say::Silence) => told.silent.push(Silent {
                provider: "provider_a".to_owned(),
                reason: "it hangs".to_owned(),
            }),
            Some(Say::Ids(ids)) if ids.len() == 1 => {
                told.metadata = Some(Metadata {
                    provider: "provider_a".to_owned(),
                    ids: vec![id(ids[0])],
                    ..Metadata::default()
                });
            }
            Some(Say::Ids(ids)) => told.ambiguous = ids.into_iter().map(id).collect(),
        }
        Ok(told)
    }

    async fn details_of(&self, _: &str, _: &Lookup) -> Result<Alone<Box<Metadata>>, Unsettled> {
        Ok(Alone::Nobody)
    }

    async fn own_id(
        &self,
        _: &str,
        _: &ExternalId,
        _: &[TitleKind],
    ) -> Result<Alone<(TitleKind, String)>, Unsettled> {
        Ok(Alone::Nobody)
    }

    async fn rating(&self, _: &str) -> Result<Alone<Rated>, Unsettled> {
        Ok(Alone::Nobody)
    }
}
