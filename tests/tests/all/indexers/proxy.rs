//! Indexers of an aggregator, asked by the real plugin.

use qm_test_base::aggregator::{FakeAggregator, listed};
use qm_test_base::indexer::KEY;
use qm_testkit::{TestServer, both_databases};
use serde_json::json;

const PROXY: &str = "/api/integrations/indexer_proxy";

both_databases! {
    async fn imported_indexers_are_searched_at_once(db: &TestDb) {
        let aggregator = FakeAggregator::start().await;
        aggregator.has(vec![listed(1, "Orchard", "orchard"), listed(2, "Harbor", "harbor")]);
        let server = TestServer::builder(db).plugins(&["torznab.wasm"]).start().await;
        let api = server.admin();
        api.patch(PROXY, json!({ "enabled": true, "internalUrl": aggregator.base("good"), "apiKey": KEY })).await;
        let told = api.post(&format!("{PROXY}/import"), json!({})).await;
        assert_eq!(told["added"].as_array().map(Vec::len), Some(2), "{told}");
        let again = api.post(&format!("{PROXY}/import"), json!({})).await;
        assert_eq!((&again["added"], &again["changed"], &again["unchanged"]), (&json!([]), &json!([]), &json!(2)));
        let found = api.post("/api/indexers/search", json!({ "q": "Harbor Nine" })).await;
        assert_eq!((&found["queried"], &found["failed"]), (&json!(2), &json!(0)), "{found}");
        assert!(!found["candidates"].as_array().expect("a list").is_empty());
        let settings = api.get("/api/settings").await;
        assert!(!settings.to_string().contains(KEY), "{settings}");
        server.end().await;
    }
}
