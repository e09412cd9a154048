//! Categories and tags of the server and of clients, over clients in memory and both databases.

use std::sync::atomic::Ordering;

use qm_db::{Db, db_test};
use qm_ports::engine::{Category, EngineError, Torrent, capability};
use qm_test_base::blank::{hash, torrent};
use serde_json::{Value, json};

use crate::dto::taxonomy::{ListedCategoryView, ListedTagView, NewCategory};
use crate::testing::{House, eventually};

async fn categories(house: &House) -> Value {
    let listed = house.torrents.listed_categories().await.unwrap();
    let views = listed.into_iter().map(ListedCategoryView::from);
    serde_json::to_value(views.collect::<Vec<_>>()).unwrap()
}

db_test! {
    async fn categories_of_clients_are_listed_beside_those_of_the_server(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let (a, b) = (house.kinds.engine("a"), house.kinds.engine("b"));
        a.capabilities.lock().unwrap().extend([capability::CATEGORIES, capability::TAGS]);
        *a.categories.lock().unwrap() = vec![
            Category { name: "tv".into(), save_path: Some("/client/tv".into()), download_path: None },
            Category { name: "empty".into(), save_path: Some(String::new()), download_path: None },
        ];
        *a.own_tags.lock().unwrap() = vec!["unused".into()];
        let labelled = |n: u8, label: &str, tags: &[&str]| Torrent {
            label: Some(label.into()),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..torrent(n)
        };
        a.put(labelled(1, "tv", &["x"]));
        a.put(labelled(2, "tv", &[]));
        a.put(labelled(3, "", &[]));
        b.put(labelled(4, "tv", &[]));
        b.put(labelled(5, "music", &[]));
        let (first, second) = (house.engine("first", "a").await, house.engine("second", "b").await);
        for (engine, n) in [(&first, 1), (&second, 5)] {
            eventually("its torrents are listed", || house.torrents.torrent(engine, &hash(n)).is_some()).await;
        }
        for name in ["tv", "films"] {
            let new = NewCategory { name: name.into(), color: None, save_path: Some("/downloads/tv".into()) };
            house.torrents.create_category(house.caller(), new).await.unwrap();
        }
        let listed = categories(&house).await;
        let shown: Vec<(&str, bool, u64, usize)> = listed.as_array().unwrap().iter().map(|row| (
            row["name"].as_str().unwrap(), row["id"].is_string(), row["torrents"].as_u64().unwrap(), row["engines"].as_array().unwrap().len(),
        )).collect();
        assert_eq!(shown, [("empty", false, 0, 1), ("films", true, 0, 0), ("music", false, 1, 1), ("tv", true, 3, 2)]);
        assert_eq!(listed[3]["engines"], json!([
            { "engineId": first, "torrents": 2, "inClient": true, "savePath": "/client/tv" },
            { "engineId": second, "torrents": 1, "inClient": false, "savePath": null },
        ]));
        assert_eq!(listed[3]["savePath"], "/downloads/tv");
        let tags = house.torrents.listed_tags().await.unwrap();
        let tags = serde_json::to_value(tags.into_iter().map(ListedTagView::from).collect::<Vec<_>>()).unwrap();
        assert_eq!((&tags[0]["name"], &tags[0]["torrents"]), (&json!("unused"), &json!(0)));
        assert_eq!((&tags[1]["name"], &tags[1]["torrents"], &tags[1]["createdAt"]), (&json!("x"), &json!(1), &Value::Null));
        // Whoever looks next does not make the client work, nor loses what it told when it goes away.
        a.fail(Some(EngineError::Unreachable("away".into())));
        assert_eq!(categories(&house).await, listed);
        assert_eq!(a.categories_asked.load(Ordering::SeqCst), 1);
        assert_eq!(b.categories_asked.load(Ordering::SeqCst), 0, "it has no such list");
        house.torrents.shutdown().await;
    }
}
