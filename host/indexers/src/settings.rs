//! Settings of indexers.

use qm_platform::settings;
use serde_json::{Map, Value};

settings! {
    of "indexers";

    /// The link to the indexer aggregator.
    pub INDEXER_PROXY: Map<String, Value> = "indexer_proxy.settings",
        Map::new, by_route("PATCH /api/integrations/indexer_proxy"), secret_members(&["apiKey"]);
}
