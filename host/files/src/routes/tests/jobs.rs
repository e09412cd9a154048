//! Operations are jobs.

use std::time::Duration;

use qm_db::{Db, db_test};
use qm_jobs::{JobType, NewJob, Pace, testing};

use super::*;

sql! {
    JOBS = "SELECT type, status, error_code, result_summary, visibility_scope, created_by_id, input FROM platform_jobs \
        ORDER BY created_at, id";
    ENDED = "SELECT COUNT(*) FROM platform_jobs WHERE status NOT IN ('running', 'cancelling')";
    STATUS = "SELECT status FROM platform_jobs WHERE id = $1";
}

#[derive(Debug, FromRow)]
struct Stored {
    #[sqlx(rename = "type")]
    type_key: String,
    status: String,
    error_code: Option<String>,
    result_summary: Option<Json<Value>>,
    visibility_scope: String,
    created_by_id: Option<String>,
    input: Option<String>,
}

/// The jobs there are, once `count` of them have ended: how one ended is written while its answer is on its way.
async fn ended(db: &Db, count: i64) -> Vec<Stored> {
    for _ in 0..12_000 {
        let mut tx = db.begin_read().await.unwrap();
        if qm_db::value!(&mut tx, i64, ENDED).await.unwrap() == count {
            return qm_db::all!(&mut tx, Stored, JOBS).await.unwrap();
        }
        drop(tx);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited in vain for {count} jobs to end");
}

db_test! {
    async fn every_operation_is_a_job_of_who_asked(db: Db) {
        let site = Site::new(&db).await;
        for path in ["a.txt", "b.txt", "c.txt", "d/e.txt"] {
            site.put(path, "12345");
        }
        let mut expected = Vec::new();
        for (path, body, type_key, status) in [
            ("folders", json!({ "path": "/", "name": "new" }), "files.create_folder", "completed"),
            ("rename", json!({ "path": "/a.txt", "newName": "f.txt" }), "files.rename", "completed"),
            ("move", json!({ "source": "/b.txt", "destination": "/new" }), "files.move", "completed"),
            ("copy", json!({ "source": "/c.txt", "destination": "/new" }), "files.copy", "completed"),
            ("copy", json!({ "source": "/c.txt", "destination": "/new" }), "files.copy", "failed"),
            ("delete", json!({ "path": "/c.txt" }), "files.delete", "completed"),
            ("bulk", json!({ "operation": "delete", "paths": ["/f.txt", "/no"] }), "files.bulk", "completed_with_warnings"),
            ("cleanup-execute", json!({ "path": "/d", "paths": ["/d/e.txt"] }), "files.cleanup", "completed"),
            ("trash/empty", json!({}), "files.trash_empty", "completed"),
        ] {
            let answer = site.send(request("ADMINISTRATOR", "POST", &format!("/api/files/{path}"), Some(body))).await;
            let refused = status == "failed";
            assert_eq!(answer.status == 201, !refused, "{path}: {}", answer.json());
            expected.push((type_key, status));
            let jobs = ended(&db, expected.len() as i64).await;
            // All of them at one instant of this clock, so in no order.
            let count = |of: &dyn Fn(&Stored) -> bool| jobs.iter().filter(|job| of(job)).count();
            let alike = expected.iter().filter(|one| **one == (type_key, status)).count();
            assert_eq!(count(&|job| job.type_key == type_key && job.status == status), alike, "{path}: {jobs:?}");
            site.clock.advance(Duration::from_millis(1));
        }
        site.put("g.txt", "1");
        site.done("/api/files/delete", json!({ "path": "/g.txt" })).await;
        let trashed = site.trash().await[0]["id"].clone();
        site.done("/api/files/trash/restore", json!({ "id": trashed })).await;
        let jobs = ended(&db, expected.len() as i64 + 2).await;
        assert!(jobs.iter().any(|job| job.type_key == "files.restore" && job.status == "completed"), "{jobs:?}");
        for job in jobs {
            assert_eq!((job.visibility_scope.as_str(), job.created_by_id.as_deref()), ("own", Some("u")), "{job:?}");
            assert_eq!(job.input, None, "nobody can have it done again");
            match job.status.as_str() {
                "failed" => assert_eq!(job.error_code.as_deref(), Some("conflict.exists")),
                _ => assert_eq!((job.error_code.as_deref(), job.result_summary.is_some()), (None, true)),
            }
        }
        assert!(site.files.list_operations().await.unwrap().is_empty());
    }

    async fn another_servers_operations_are_listed_and_cancelled(db: Db) {
        let site = Site::new(&db).await;
        let pace = Pace { lease: Duration::from_millis(300), ..Pace::default() };
        let (other, background) = testing::worker(&db, pace);
        other.register(JobType::hosted("files.copy", "files", "x", Some(Permission::FilesCopy)));
        other.start().await.unwrap();
        let new = NewJob {
            created_by: Some("u".into()),
            input_summary: Some(json!({ "source": "/a", "destination": "/b" })),
            ..NewJob::new("files.copy", json!({}))
        };
        let hosted = other.begin_hosted(new).await.unwrap();
        let listed = site.get("/api/files/operations").await.json();
        assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
        let seen = (&listed[0]["id"], &listed[0]["operation"], &listed[0]["source"], &listed[0]["cancelling"]);
        assert_eq!(seen, (&json!(hosted.id()), &json!("copy"), &json!("/a"), &json!(false)));
        let stopped = site.send(request("ADMINISTRATOR", "DELETE", &format!("/api/files/operations/{}", hosted.id()), None)).await;
        assert_eq!(stopped.status, 200);
        tokio::time::timeout(Duration::from_mins(1), hosted.cancellation().cancelled()).await.expect("it hears of it");
        let id = hosted.id().to_owned();
        hosted.end(None, Err(qm_jobs::JobError::new("cancelled", "it was stopped")));
        ended(&db, 1).await;
        let mut tx = db.begin_read().await.unwrap();
        assert_eq!(qm_db::value!(&mut tx, String, STATUS, &id).await.unwrap(), "cancelled");
        other.shutdown().await;
        background.shutdown().await;
    }
}
