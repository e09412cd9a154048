//! What is stored, on both databases.

use std::time::Duration;

use qm_db::{Db, db_test};
use qm_kernel::Timestamp;
use qm_platform::SealedValues;
use qm_ports::indexer::Caps;

use super::indexers::{self, Failed, Which};
use super::sealed::IndexerSecrets;
use crate::model::indexer::{DEFAULT_CATEGORIES, Indexer, IndexerChange};

const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

fn indexer(id: &str, name: &str, priority: i64) -> Indexer {
    Indexer {
        id: id.to_owned(),
        name: name.to_owned(),
        implementation: "torznab".to_owned(),
        protocol: "torrent".to_owned(),
        base_url: "http://indexer:9117".to_owned(),
        api_key: Some("sealed key".to_owned()),
        config: None,
        enabled: true,
        priority,
        categories: DEFAULT_CATEGORIES.to_vec(),
        min_seeders: None,
        timeout_ms: 15_000,
        requests_per_minute: 60,
        capabilities: None,
        status: "unknown".to_owned(),
        status_message: None,
        last_tested_at: None,
        consecutive_failures: 0,
        next_try_at: None,
        last_latency_ms: None,
        last_error: None,
        last_error_code: None,
        created_at: NOW,
        updated_at: NOW,
        version: 1,
        queries_today: 0,
        grabs_today: 0,
    }
}

async fn stored(db: &Db, all: &[Indexer]) {
    let mut tx = db.begin_write().await.unwrap();
    for one in all {
        indexers::insert(&mut tx, one).await.unwrap();
    }
    tx.commit().await.unwrap();
}

db_test! {
    async fn indexers_come_back_as_they_were_stored_in_their_order(db: Db) {
        let all = [indexer("1", "Zeta", 10), indexer("2", "Alpha", 25), indexer("3", "Beta", 25)];
        stored(&db, &[all[2].clone(), all[0].clone(), all[1].clone()]).await;
        let mut tx = db.begin_write().await.unwrap();
        assert_eq!(indexers::all(&mut tx, NOW).await.unwrap(), all);
        assert_eq!(indexers::count(&mut tx).await.unwrap(), 3);
        assert!(indexers::delete(&mut tx, "2").await.unwrap());
        assert!(!indexers::delete(&mut tx, "2").await.unwrap());
        assert_eq!(indexers::find(&mut tx, "2", NOW).await.unwrap(), None);
    }

    async fn what_an_earlier_configuration_brought_says_nothing_of_a_later_one(db: Db) {
        stored(&db, &[indexer("1", "One", 25)]).await;
        let mut tx = db.begin_write().await.unwrap();
        let first = Which { id: "1", version: 1 };
        let rest = Some(NOW.plus(Duration::from_secs(30)));
        let failed = Failed { message: "is out", code: "indexer.unreachable", counts: true, next_try_at: rest, latency_ms: 7 };
        indexers::failed(&mut tx, first, &failed).await.unwrap();
        indexers::failed(&mut tx, first, &failed).await.unwrap();
        let found = indexers::find(&mut tx, "1", NOW).await.unwrap().unwrap();
        assert_eq!((found.consecutive_failures, found.next_try_at, found.last_error.as_deref()), (2, rest, Some("is out")));
        let mut changed = found;
        IndexerChange { base_url: Some("http://other".to_owned()), ..IndexerChange::default() }.apply(&mut changed);
        indexers::update(&mut tx, &changed, true).await.unwrap();
        indexers::failed(&mut tx, first, &failed).await.unwrap();
        indexers::tested(&mut tx, first, Err("late"), NOW).await.unwrap();
        let found = indexers::find(&mut tx, "1", NOW).await.unwrap().unwrap();
        assert_eq!((found.version, found.consecutive_failures, found.next_try_at), (2, 0, None));
        assert_eq!((found.base_url.as_str(), found.status.as_str()), ("http://other", "unknown"));
    }

    async fn capabilities_outlive_a_test_that_fails(db: Db) {
        stored(&db, &[indexer("1", "One", 25)]).await;
        let mut tx = db.begin_write().await.unwrap();
        let which = Which { id: "1", version: 1 };
        let caps = Caps { tv_search: true, ..Caps::default() };
        indexers::tested(&mut tx, which, Ok(&caps), NOW).await.unwrap();
        indexers::tested(&mut tx, which, Err("a login page"), NOW).await.unwrap();
        indexers::answered(&mut tx, which, 12).await.unwrap();
        let found = indexers::find(&mut tx, "1", NOW).await.unwrap().unwrap();
        assert_eq!((found.capabilities, found.status.as_str()), (Some(caps), "error"));
        assert_eq!((found.status_message.as_deref(), found.last_latency_ms), (Some("a login page"), Some(12)));
    }

    async fn a_day_counts_for_itself(db: Db) {
        stored(&db, &[indexer("1", "One", 25)]).await;
        let mut tx = db.begin_write().await.unwrap();
        let tomorrow = NOW.plus(Duration::from_secs(86_400));
        for (counted, at) in [((1, 0), NOW), ((2, 1), NOW), ((5, 0), tomorrow)] {
            indexers::tally(&mut tx, "1", counted, at).await.unwrap();
        }
        indexers::tally(&mut tx, "gone", (1, 1), NOW).await.unwrap();
        for (at, counted) in [(NOW, (3, 1)), (tomorrow, (5, 0))] {
            let found = indexers::find(&mut tx, "1", at).await.unwrap().unwrap();
            assert_eq!((found.queries_today, found.grabs_today), counted);
        }
    }

    async fn secrets_are_listed_and_replaced_for_a_new_key(db: Db) {
        let plain = Indexer { api_key: None, ..indexer("2", "Plain", 25) };
        let both = Indexer { config: Some("sealed config".to_owned()), ..indexer("1", "Both", 25) };
        stored(&db, &[both, plain]).await;
        let mut tx = db.begin_write().await.unwrap();
        let page = IndexerSecrets.list(&mut tx, None, 10).await.unwrap();
        let told: Vec<(&str, &str)> = page.rows.iter().map(|row| (row.field.as_str(), row.stored.as_str())).collect();
        assert_eq!(told, [("apiKey", "sealed key"), ("config", "sealed config")]);
        assert!(page.next.is_none());
        for row in &page.rows {
            assert!(IndexerSecrets.replace(&mut tx, row, &format!("new {}", row.field)).await.unwrap());
            assert!(!IndexerSecrets.replace(&mut tx, row, "late").await.unwrap());
        }
        let found = indexers::find(&mut tx, "1", NOW).await.unwrap().unwrap();
        assert_eq!((found.api_key.as_deref(), found.config.as_deref()), (Some("new apiKey"), Some("new config")));
    }
}
