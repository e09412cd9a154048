//! Statements, rows and values that read back as they were written.

use qm_db::{Backend, Db, DbError, Json, all, batch, bulk, db_test, each, exec, one, opt, sql, value};
use qm_kernel::ErrorKind;

sql! {
    ADD_TAG = "INSERT INTO torrent_tags (id, name, color, created_at) VALUES ($1, $2, $3, $4)";
    LIST_TAGS = "SELECT id, name, color, created_at FROM torrent_tags ORDER BY name";
    FIND_TAG = "SELECT id, name, color, created_at FROM torrent_tags WHERE id = $1";
    COUNT_TAGS = "SELECT COUNT(*) FROM torrent_tags";
    SUM_TAGS = "SELECT CAST(SUM(created_at) AS BIGINT) FROM torrent_tags";
    COLOUR_TAG = "UPDATE torrent_tags SET color = $2 WHERE id = $1";
    SEARCH_TAGS = "SELECT name FROM torrent_tags \
        WHERE CAST($1 AS TEXT) IS NULL OR LOWER(name) LIKE LOWER($1) ORDER BY color NULLS LAST, name";
    ADD_ENGINE = "INSERT INTO torrent_engines \
        (id, name, kind, config, is_default, is_enabled, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $7)";
    FIND_ENGINE = "SELECT config, is_default, is_enabled FROM torrent_engines WHERE id = $1";
    PUT_SNAPSHOT_RATIO = "INSERT INTO torrent_snapshots (id, engine_id, hash, name, state, progress, size, downloaded, \
        uploaded, ratio, download_rate, upload_rate, save_path, captured_at) \
        VALUES ($1, $2, $1, '', 'seeding', $3, $4, 0, 0, $5, 0, 0, '', 0) RETURNING progress, size, ratio";
}

bulk! {
    UPSERT_TAGS = "INSERT INTO torrent_tags (id, name, created_at) VALUES", 3,
        "ON CONFLICT (id) DO UPDATE SET name = excluded.name";
    NAMED_TAGS = "SELECT t.id FROM (VALUES", 2,
        ") w CROSS JOIN torrent_tags t WHERE t.id = w.column1 AND t.name = w.column2";
}

#[derive(Debug, PartialEq, qm_db::FromRow)]
struct TagRow {
    id: String,
    name: String,
    color: Option<String>,
    created_at: i64,
}

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Config {
    host: String,
}

#[derive(Debug, PartialEq, qm_db::FromRow)]
struct EngineRow {
    config: Json<Config>,
    is_default: bool,
    is_enabled: bool,
}

db_test! {
    async fn rows_read_back_as_written(db: Db) {
        let mut tx = db.begin_write().await.unwrap();
        for (id, name, color) in [("1", "b", Some("red")), ("2", "B", None), ("3", "ä", Some("ünï"))] {
            exec!(&mut tx, ADD_TAG, id, name, color, 1_932_628_500_000_i64).await.unwrap().exactly(1).unwrap();
        }
        let names: Vec<String> = all!(&mut tx, TagRow, LIST_TAGS).await.unwrap().into_iter().map(|row| row.name).collect();
        assert_eq!(names, ["B", "b", "ä"], "names sort by their bytes on both databases");
        let row = opt!(&mut tx, TagRow, FIND_TAG, "1").await.unwrap();
        let expected = TagRow { id: "1".into(), name: "b".into(), color: Some("red".into()), created_at: 1_932_628_500_000 };
        assert_eq!(row, Some(expected));
        assert_eq!(opt!(&mut tx, TagRow, FIND_TAG, "none").await.unwrap(), None);
        assert_eq!(value!(&mut tx, i64, COUNT_TAGS).await.unwrap(), 3);
        assert_eq!(value!(&mut tx, Option<i64>, SUM_TAGS).await.unwrap(), Some(3 * 1_932_628_500_000));
        let found = all!(&mut tx, (String,), SEARCH_TAGS, Some("%B%")).await.unwrap();
        assert_eq!(found, [("b".to_owned(),), ("B".to_owned(),)]);
        assert_eq!(all!(&mut tx, (String,), SEARCH_TAGS, None::<&str>).await.unwrap().len(), 3);
        assert!(matches!(one!(&mut tx, TagRow, FIND_TAG, "none").await, Err(DbError::Query(_))));
    }

    async fn booleans_and_json_are_typed(db: Db) {
        let mut tx = db.begin_write().await.unwrap();
        let config = Json(Config { host: "rtorrent".into() });
        exec!(&mut tx, ADD_ENGINE, "e", "E", "scgi_client", &config, true, false, 0_i64).await.unwrap().exactly(1).unwrap();
        let row = one!(&mut tx, EngineRow, FIND_ENGINE, "e").await.unwrap();
        assert_eq!(row, EngineRow { config, is_default: true, is_enabled: false });
        let second = exec!(&mut tx, ADD_ENGINE, "f", "F", "scgi_client", Json(()), true, true, 0_i64).await;
        assert!(second.unwrap_err().is_unique_violation(), "there is one default engine at most");
    }

    async fn floats_and_large_numbers_are_kept(db: Db) {
        let mut tx = db.begin_write().await.unwrap();
        exec!(&mut tx, ADD_ENGINE, "e", "E", "scgi_client", Json(()), false, true, 0_i64).await.unwrap().exactly(1).unwrap();
        for (hash, progress, size, ratio) in [("a", 1.0, i64::MAX, 0.0), ("b", 0.1 + 0.2, 0, 1e300), ("c", 0.0, -1, -1.0)] {
            let row = one!(&mut tx, (f64, i64, f64), PUT_SNAPSHOT_RATIO, hash, "e", progress, size, ratio).await.unwrap();
            assert_eq!(row, (progress, size, ratio));
        }
    }

    async fn a_nul_in_a_text_is_the_callers_mistake_or_matches_nothing(db: Db) {
        let mut tx = db.begin_read().await.unwrap();
        match (db.backend(), opt!(&mut tx, TagRow, FIND_TAG, "a\0b").await) {
            (Backend::Sqlite, Ok(None)) => {}
            (Backend::Postgres, Err(error @ DbError::Nul(_))) => assert_eq!(error.kind(), ErrorKind::BadRequest),
            (_, other) => panic!("{other:?}"),
        }
    }

    async fn affected_rows_are_counted(db: Db) {
        let mut tx = db.begin_write().await.unwrap();
        let missed = exec!(&mut tx, COLOUR_TAG, "none", Some("red")).await.unwrap();
        assert_eq!(missed.rows(), 0);
        assert!(matches!(missed.exactly(1), Err(DbError::Affected { expected: 1, found: 0 })));
    }

    async fn batches_write_every_row_once_and_update_on_the_second_time(db: Db) {
        let mut rows: Vec<(String, String)> = (0..333).map(|n| (format!("{n:03}"), format!("tag {n}"))).collect();
        let mut tx = db.begin_write().await.unwrap();
        let written = batch!(&mut tx, UPSERT_TAGS, rows, |row| &row.0, &row.1, 7_i64).await.unwrap();
        assert_eq!(written.rows(), 333);
        for row in &mut rows {
            row.1.push_str(" again");
        }
        assert_eq!(batch!(&mut tx, UPSERT_TAGS, rows, |(id, name)| id, name, 8_i64).await.unwrap().rows(), 333);
        assert_eq!(batch!(&mut tx, UPSERT_TAGS, rows[..0], |(id, name)| id, name, 8_i64).await.unwrap().rows(), 0);
        let stored = all!(&mut tx, TagRow, LIST_TAGS).await.unwrap();
        assert_eq!(stored.len(), 333);
        assert!(stored.iter().all(|row| row.name == format!("tag {} again", row.id.trim_start_matches('0').parse::<u32>().unwrap_or(0))));
        assert!(stored.iter().all(|row| row.created_at == 7));
    }

    async fn rows_are_found_by_many_keys_at_once(db: Db) {
        let rows: Vec<(String, String)> = (0..150).map(|n| (format!("{n:03}"), format!("tag {n}"))).collect();
        let mut tx = db.begin_write().await.unwrap();
        batch!(&mut tx, UPSERT_TAGS, rows, |row| &row.0, &row.1, 7_i64).await.unwrap().exactly(150).unwrap();
        // Every second key exists; the others exist under another name.
        let keys: Vec<(String, String)> = (0..300).step_by(2)
            .flat_map(|n| [(format!("{n:03}"), format!("tag {n}")), (format!("{:03}", n + 1), "another".to_owned())]).collect();
        let mut found = each!(&mut tx, (String,), NAMED_TAGS, keys, |(id, name)| id, name).await.unwrap();
        found.sort();
        let expected: Vec<(String,)> = (0..150).step_by(2).map(|n| (format!("{n:03}"),)).collect();
        assert_eq!(found, expected);
        assert_eq!(each!(&mut tx, (String,), NAMED_TAGS, keys[..0], |(id, name)| id, name).await.unwrap(), []);
    }

    async fn constraint_violations_say_what_they_hit(db: Db) {
        let add = async |id: &str, name: &str| {
            let mut tx = db.begin_write().await.unwrap();
            let done = exec!(&mut tx, ADD_TAG, id, name, None::<&str>, 0_i64).await;
            match done {
                Ok(_) => tx.commit().await,
                Err(error) => Err(error),
            }
        };
        add("1", "same").await.unwrap();
        let name = add("2", "same").await.unwrap_err();
        assert!(name.is_unique_violation() && name.is_unique_violation_of("torrent_tags", "name"), "{name:?}");
        assert!(!name.is_unique_violation_of("torrent_tags", "color") && !name.is_foreign_key_violation());
        assert!(add("1", "other").await.unwrap_err().is_unique_violation());
        assert!(!name.to_string().contains("same") && !name.to_string().contains("INSERT"), "{name}");
    }
}
