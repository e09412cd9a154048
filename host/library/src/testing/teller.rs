//! Providers of metadata that say what a test lets them say.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;
use qm_ports::metadata::{Lookup, LookupKind, Metadata, MetadataChain, Silent, Told, Unsettled};
use tokio::sync::Notify;

/// Answers one question after another.
#[derive(Default)]
pub struct Teller {
    pub providers: Mutex<Vec<String>>,
    /// What is answered next; nothing is known behind the last.
    pub answers: Mutex<VecDeque<Told>>,
    pub asked: Mutex<Vec<Lookup>>,
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

/// What one provider says.
pub fn said(provider: &str, fill: impl FnOnce(&mut Metadata)) -> Told {
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

/// Who does not answer.
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
}
