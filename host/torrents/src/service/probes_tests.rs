//! Probes of engines, over clients in memory and both databases.

use std::sync::atomic::Ordering;
use std::time::Duration;

use qm_db::{Db, db_test};
use qm_engines::dto::engines::{CreateEngine, UpdateEngine};
use qm_ports::EngineProbes as _;
use qm_ports::engine::EngineError;
use serde_json::Map;

use crate::testing::House;

db_test! {
    async fn every_enabled_engine_is_asked_whether_or_not_it_could_be_loaded(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let well = house.engine("well", "well").await;
        let planned = CreateEngine {
            name: "planned".into(),
            kind: "deluge".into(),
            config: Map::new(),
            path_mappings: None,
            is_default: false,
            is_enabled: true,
        };
        let planned = house.torrents.engines.create_engine(house.caller(), planned).await.unwrap().id;
        let ill = house.engine("ill", "ill").await;
        let off = house.engine("off", "off").await;
        let disable = UpdateEngine { is_enabled: Some(false), ..UpdateEngine::default() };
        house.torrents.engines.update_engine(house.caller(), &off, disable).await.unwrap();
        house.kinds.engine("ill").fail(Some(EngineError::Unreachable("refused".into())));

        let probes = house.torrents.engines.probe_all(Duration::from_secs(20)).await;
        let mut said: Vec<_> = probes
            .iter()
            .map(|probe| (&*probe.engine_id, &*probe.name, probe.online, probe.error.as_deref()))
            .collect();
        said.sort_by_key(|(_, name, ..)| *name);
        let no_plugin = "Engine \"deluge\" is planned but not yet implemented";
        assert_eq!(
            said,
            [
                (&*ill, "ill", false, Some("ill cannot be reached: refused")),
                (&*planned, "planned", false, Some(no_plugin)),
                (&*well, "well", true, None),
            ]
        );
        let well = probes.iter().find(|probe| probe.online).unwrap();
        assert!(well.latency_ms.is_some() && well.version.is_some(), "{well:?}");

        house.kinds.engine("well").delay.store(60_000, Ordering::SeqCst);
        let probes = house.torrents.engines.probe_all(Duration::from_secs(1)).await;
        let hung = probes.iter().find(|probe| probe.name == "well").unwrap();
        assert_eq!(hung.error.as_deref(), Some("well did not answer within 1 s"));
        house.kinds.engine("well").delay.store(0, Ordering::SeqCst);
        house.torrents.shutdown().await;
    }
}
