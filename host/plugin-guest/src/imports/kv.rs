//! `kv`: a few values of the plugin's own. For roles whose plugins keep values, without a grant; bounded here by the key, the
//! value and the number of calls, and in all by whoever keeps them ([`crate::values`]).

use wasmtime::Result;

use super::wit::kv::{self, KvError};
use crate::state::{State, at_work};
use crate::values::{Condition, KEYS, ValueError};

/// Bytes of a key, at most.
const KEY: usize = 256;
/// Bytes of a value, at most.
const VALUE: usize = 64 << 10;

impl From<ValueError> for KvError {
    fn from(error: ValueError) -> Self {
        match error {
            ValueError::TooMany | ValueError::TooLarge => KvError::Full(error.to_string()),
            ValueError::Unavailable(why) => KvError::Unavailable(why),
        }
    }
}

fn text(noun: &str, text: &str, max: usize) -> Result<(), KvError> {
    if text.len() > max {
        return Err(KvError::Invalid(format!("a {noun} has {max} bytes at most")));
    }
    // One of the two databases keeps no NUL in a text.
    if text.contains('\0') {
        return Err(KvError::Invalid(format!("a {noun} holds no NUL")));
    }
    Ok(())
}

/// Tells whether this instance may ask once more, and for this key.
fn may_ask(state: &mut State, key: Option<&str>) -> Result<(), KvError> {
    if !state.errands.rights.keeps_values {
        return Err(KvError::Denied("this plugin keeps no values".to_owned()));
    }
    state.errands.count_value().map_err(KvError::Full)?;
    match key {
        Some("") => Err(KvError::Invalid("a key has 1 byte at least".to_owned())),
        Some(key) => text("key", key, KEY),
        None => Ok(()),
    }
}

/// When it is written.
enum Only {
    Always,
    /// While the key has this value; none: while there is no such key.
    Was(Option<String>),
}

impl Only {
    fn expected(&self) -> Option<&String> {
        match self {
            Only::Always | Only::Was(None) => None,
            Only::Was(Some(expected)) => Some(expected),
        }
    }
}

/// Writes, or with no value removes.
async fn put(
    state: &mut State,
    key: String,
    value: Option<String>,
    only: Only,
) -> Result<Result<bool, KvError>> {
    let sizes = [value.as_ref(), only.expected()];
    let bytes = key.len() + sizes.iter().flatten().map(|text| text.len()).sum::<usize>();
    let _held = state.account.charge(bytes)?;
    if let Err(refusal) = may_ask(state, Some(&key)) {
        return Ok(Err(refusal));
    }
    if let Some(value) = &value
        && let Err(refusal) = text("value", value, VALUE)
    {
        return Ok(Err(refusal));
    }
    let only = match &only {
        Only::Always => Condition::Always,
        Only::Was(expected) => Condition::Was(expected.as_deref()),
    };
    let (plugin, values) = (
        state.errands.plugin.clone(),
        state.errands.services.values.clone(),
    );
    let progress = state.network.progress.clone();
    let done = at_work(&progress, values.put(&plugin, &key, value.as_deref(), only)).await;
    Ok(done.map_err(KvError::from))
}

impl kv::Host for State {
    async fn get(&mut self, key: String) -> Result<Result<Option<String>, KvError>> {
        let _key = self.account.charge(key.len())?;
        if let Err(refusal) = may_ask(self, Some(&key)) {
            return Ok(Err(refusal));
        }
        // Before it is read: as much as it may be.
        let mut held = self.account.charge(VALUE)?;
        let (plugin, values) = (self.errands.plugin.clone(), self.errands.services.values.clone());
        let progress = self.network.progress.clone();
        let found = at_work(&progress, values.get(&plugin, &key)).await;
        let size = found
            .as_ref()
            .ok()
            .and_then(Option::as_ref)
            .map_or(0, String::len);
        held.resize(size)?;
        self.hand_over(held);
        Ok(found.map_err(KvError::from))
    }

    async fn set(&mut self, key: String, value: String) -> Result<Result<(), KvError>> {
        Ok(put(self, key, Some(value), Only::Always).await?.map(drop))
    }

    async fn remove(&mut self, key: String) -> Result<Result<(), KvError>> {
        Ok(put(self, key, None, Only::Always).await?.map(drop))
    }

    async fn exchange(
        &mut self,
        key: String,
        expected: Option<String>,
        value: Option<String>,
    ) -> Result<Result<bool, KvError>> {
        put(self, key, value, Only::Was(expected)).await
    }

    async fn keys(&mut self) -> Result<Result<Vec<String>, KvError>> {
        if let Err(refusal) = may_ask(self, None) {
            return Ok(Err(refusal));
        }
        let held = self.account.charge(KEYS * (KEY + size_of::<String>()))?;
        let (plugin, values) = (self.errands.plugin.clone(), self.errands.services.values.clone());
        let progress = self.network.progress.clone();
        let keys = at_work(&progress, values.keys(&plugin)).await;
        self.hand_over(held);
        Ok(keys.map_err(KvError::from))
    }
}
