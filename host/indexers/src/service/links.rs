//! Download links for users: without the keys of the indexer that listed the release.

use std::collections::HashMap;

use qm_kernel::{Permission, Principal, Secret};
use qm_platform::links::{handed_out, without};
use qm_ports::indexer::{Candidate, SearchResult};
use serde_json::{Map, Value};

use super::Indexers;
use crate::error::IndexerAreaError;
use crate::model::indexer::Indexer;
use crate::repo;

impl Indexers {
    /// Search result with sealed links, for `reader`.
    pub async fn found_for(
        &self,
        reader: &Principal,
        mut found: SearchResult,
    ) -> Result<SearchResult, IndexerAreaError> {
        let indexers = repo::indexers::all(&mut self.db.begin_read().await?).await?;
        let secrets: HashMap<String, Vec<Secret>> = indexers
            .iter()
            .map(|indexer| (indexer.id.clone(), self.secrets_of(indexer)))
            .collect();
        for candidate in &mut found.candidates {
            let secrets = secrets.get(&candidate.indexer_id).map(Vec::as_slice);
            self.hand_out(reader, candidate, secrets.unwrap_or_default());
        }
        let all: Vec<Secret> = secrets.into_values().flatten().collect();
        for failure in &mut found.failures {
            failure.message = without(&failure.message, &all);
        }
        found.warnings = found
            .warnings
            .iter()
            .map(|warning| without(warning, &all))
            .collect();
        Ok(found)
    }

    /// Releases of one indexer with sealed links, for `reader`.
    pub fn listed_for(
        &self,
        reader: &Principal,
        indexer: &Indexer,
        listed: Vec<Candidate>,
    ) -> Vec<Candidate> {
        let secrets = self.secrets_of(indexer);
        let mut listed = listed;
        for candidate in &mut listed {
            self.hand_out(reader, candidate, &secrets);
        }
        listed
    }

    fn hand_out(&self, reader: &Principal, candidate: &mut Candidate, secrets: &[Secret]) {
        let reader = (reader, reader.has_permission(Permission::IndexersManage));
        let release = &mut candidate.release;
        release.download_url = release
            .download_url
            .take()
            .map(|link| handed_out(&self.cipher, reader, self.ctx.now(), link, secrets));
        release.title = without(&release.title, secrets);
    }

    /// Every secret in the configuration of an indexer.
    fn secrets_of(&self, indexer: &Indexer) -> Vec<Secret> {
        let kind = self.kind(&indexer.implementation);
        let properties = kind
            .as_ref()
            .and_then(|kind| kind.config_schema.get("properties")?.as_object());
        let key = indexer
            .api_key
            .as_deref()
            .and_then(|sealed| self.cipher.decrypt(sealed));
        let mut secrets: Vec<Secret> = key.into_iter().collect();
        collect(properties, &self.kept(indexer).0, &mut secrets);
        secrets
    }
}

/// Collects secrets; a property unknown to the schema may be one too.
fn collect(properties: Option<&Map<String, Value>>, config: &Map<String, Value>, secrets: &mut Vec<Secret>) {
    for (name, value) in config {
        let property = properties.and_then(|known| known.get(name));
        if property.is_none_or(|property| qm_platform::config_schema::holds_secret(name, property)) {
            texts(value, secrets);
        }
    }
}

fn texts(value: &Value, secrets: &mut Vec<Secret>) {
    match value {
        Value::String(text) => secrets.push(Secret::new(text.as_str())),
        Value::Number(number) => secrets.push(Secret::new(number.to_string())),
        Value::Array(items) => items.iter().for_each(|item| texts(item, secrets)),
        Value::Object(members) => members.values().for_each(|member| texts(member, secrets)),
        Value::Null | Value::Bool(_) => {}
    }
}
