//! Preferences of the clients themselves. A directory among them is judged as a save path is, right before the client hears of it.

use async_trait::async_trait;
use qm_engines::TorrentsError;
use qm_engines::model::abilities::PREFERENCES;
use qm_ports::engine::EngineError;
use qm_ports::preferences::{ClientPreferences, PreferencesError, ToldPreferences};
use serde_json::{Map, Value};

use super::TorrentData;

#[async_trait]
impl ClientPreferences for TorrentData {
    async fn read_preferences(&self, engine_id: &str) -> Result<ToldPreferences, PreferencesError> {
        let engine = self.engines.resolve(Some(engine_id)).map_err(shaped)?;
        engine.check_ability(&PREFERENCES).map_err(shaped)?;
        let blame = |error: EngineError| shaped(TorrentsError::blame_engine(&engine.name())(error));
        Ok(ToldPreferences {
            schema: engine.driver.preferences_schema().await.map_err(blame)?,
            values: engine.driver.preferences().await.map_err(blame)?,
            engine: engine.name().to_string(),
        })
    }

    async fn change_preferences(
        &self,
        engine_id: &str,
        mut changes: Map<String, Value>,
        directories: &[String],
    ) -> Result<(), PreferencesError> {
        let engine = self.engines.resolve(Some(engine_id)).map_err(shaped)?;
        engine.check_ability(&PREFERENCES).map_err(shaped)?;
        for name in directories {
            let Some(Value::String(path)) = changes.get(name) else {
                continue;
            };
            let judged = self.places.judge(path, "directory").await;
            let judged = judged.map_err(|error| PreferencesError {
                kind: error.kind(),
                code: error.code(),
                message: format!("`{name}`: {error}"),
            })?;
            changes.insert(name.clone(), judged.into());
        }
        let changed = engine.driver.set_preferences(changes).await;
        changed.map_err(|error| shaped(TorrentsError::blame_engine(&engine.name())(error)))
    }
}

/// An error of torrents in the words of the port.
fn shaped(error: TorrentsError) -> PreferencesError {
    PreferencesError {
        kind: error.kind(),
        code: error.code(),
        message: error.to_string(),
    }
}
