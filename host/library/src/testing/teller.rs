//! Providers of metadata that say what a test lets them say.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use async_trait::async_trait;
use qm_ports::metadata::{
    Alone, ExternalId, Lookup, LookupKind, Metadata, MetadataChain, Rated, Silent, TitleKind, Told, Unsettled,
};
use tokio::sync::Notify;

/// Answers one question after another.
#[derive(Default)]
pub struct Teller {
    pub providers: Mutex<Vec<String>>,
    /// Answers to come, in order; after the last, nothing is known.
    pub answers: Mutex<VecDeque<Told>>,
    pub asked: Mutex<Vec<Lookup>>,
    /// Answers to come of a single provider; after the last, it has no key.
    pub alone: Mutex<VecDeque<Alone<Box<Metadata>>>>,
    /// Its own ids by ids of other sources. It knows no other title; where the map is empty, it has no key.
    pub own_ids: Mutex<HashMap<String, Alone<(TitleKind, String)>>>,
    /// Ratings without the data set, by id there; for any other there is no key.
    pub ratings: Mutex<HashMap<String, Alone<Rated>>>,
    /// Ids whose ratings were asked for.
    pub rated: Mutex<Vec<String>>,
    /// Somebody asks; the answer waits until it may be given, where it does.
    pub is_asked: Notify,
    pub may_answer: Mutex<Option<std::sync::Arc<Notify>>>,
}

impl Teller {
    /// # Panics
    /// When a test has failed that holds it.
    pub fn will_say(&self, told: Told) {
        *self.providers.lock().expect("whole") = vec!["provider_a".to_owned(), "provider_b".to_owned()];
        self.answers.lock().expect("whole").push_back(told);
    }
}

/// Answer of one provider.
pub fn answer_of(provider: &str, fill: impl FnOnce(&mut Metadata)) -> Told {
    let mut metadata = Metadata {
        provider: provider.to_owned(),
        ..Metadata::default()
    };
    fill(&mut metadata);
    Told {
        metadata: Some(metadata),
        ..Told::default()
    }
}

/// A provider that does not answer.
pub fn silent(provider: &str) -> Silent {
    Silent {
        provider: provider.to_owned(),
        reason: "it hangs".to_owned(),
    }
}

#[async_trait]
impl MetadataChain for Teller {
    async fn chain(&self, _: LookupKind) -> Result<Vec<String>, Unsettled> {
        Ok(self.providers.lock().expect("whole").clone())
    }

    async fn details(&self, lookup: &Lookup) -> Result<Told, Unsettled> {
        self.asked.lock().expect("whole").push(lookup.clone());
        self.is_asked.notify_one();
        let gate = self.may_answer.lock().expect("whole").clone();
        if let Some(gate) = gate {
            gate.notified().await;
        }
        Ok(self
            .answers
            .lock()
            .expect("whole")
            .pop_front()
            .unwrap_or_default())
    }

    async fn details_of(&self, _: &str, lookup: &Lookup) -> Result<Alone<Box<Metadata>>, Unsettled> {
        self.asked.lock().expect("whole").push(lookup.clone());
        self.is_asked.notify_one();
        let gate = self.may_answer.lock().expect("whole").clone();
        if let Some(gate) = gate {
            gate.notified().await;
        }
        let next = self.alone.lock().expect("whole").pop_front();
        Ok(next.unwrap_or(Alone::Nobody))
    }

    async fn own_id(
        &self,
        _: &str,
        id: &ExternalId,
        _: &[TitleKind],
    ) -> Result<Alone<(TitleKind, String)>, Unsettled> {
        let own_ids = self.own_ids.lock().expect("whole");
        if own_ids.is_empty() {
            return Ok(Alone::Nobody);
        }
        Ok(own_ids.get(&id.id).cloned().unwrap_or(Alone::Unknown))
    }

    async fn rating(&self, titledb_id: &str) -> Result<Alone<Rated>, Unsettled> {
        self.rated.lock().expect("whole").push(titledb_id.to_owned());
        let ratings = self.ratings.lock().expect("whole");
        Ok(ratings.get(titledb_id).cloned().unwrap_or(Alone::Nobody))
    }
}
