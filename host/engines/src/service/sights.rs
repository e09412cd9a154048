//! The loaded engines with their last lists, for areas that count what they move.

use qm_ports::sight::{EngineSight, EngineSights};

use super::Engines;

impl EngineSights for Engines {
    fn sights(&self) -> Vec<EngineSight> {
        let engines = self.registry.all();
        let seen = engines.iter().filter_map(|engine| {
            let status = engine.status()?;
            Some(EngineSight {
                is_online: status.online,
                is_whole: status.limited.is_none(),
                list: engine.snapshot()?,
            })
        });
        seen.collect()
    }

    fn default_engine(&self) -> Option<String> {
        Some(self.registry.resolve(None).ok()?.id.to_string())
    }

    fn is_loaded(&self, engine_id: &str) -> bool {
        self.registry.get(engine_id).is_some()
    }
}
