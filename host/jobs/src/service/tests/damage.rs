//! Rows that cannot be read stop nothing but themselves.

use qm_db::{Backend, Db, db_test};

use super::*;
use crate::error::JobsError;
use crate::model::status::Status;
use crate::service::actions::Verb;

sql! {
    SPOIL_INPUT = "UPDATE platform_jobs SET input = '{' WHERE id = $1";
    SPOIL_METADATA = "UPDATE platform_jobs SET metadata = 'nonsense' WHERE id = $1";
    SPOIL_VISIBILITY = "UPDATE platform_jobs SET visibility_scope = 'nobody' WHERE id = $1";
    LOOK = "SELECT status, error_code, lease_owner FROM platform_jobs WHERE id = $1";
    EVENTS = "SELECT event_type FROM platform_job_events WHERE job_id = $1 ORDER BY sequence";
    AGE = "UPDATE platform_jobs SET queued_at = queued_at - 3600001 WHERE id = $1";
    PUT_OFF = "UPDATE platform_jobs SET run_after = $2 WHERE id = $1";
}

/// Makes the rows unreadable, each in another way.
async fn spoil(db: &Db, ids: &[String]) {
    let mut tx = db.begin_write().await.unwrap();
    for (id, how) in ids.iter().zip([SPOIL_INPUT, SPOIL_METADATA, SPOIL_VISIBILITY]) {
        qm_db::exec!(&mut tx, how, id).await.unwrap().exactly(1).unwrap();
    }
    tx.commit().await.unwrap();
}

/// Status, error code, and whether somebody holds it.
async fn look(db: &Db, id: &str) -> (String, Option<String>, bool) {
    let mut tx = db.begin_read().await.unwrap();
    let (status, code, owner) = qm_db::one!(&mut tx, (String, Option<String>, Option<String>), LOOK, id)
        .await
        .unwrap();
    (status, code, owner.is_some())
}

async fn event_types(db: &Db, id: &str) -> Vec<String> {
    let mut tx = db.begin_read().await.unwrap();
    let types = qm_db::all!(&mut tx, (String,), EVENTS, id).await.unwrap();
    types.into_iter().map(|(kind,)| kind).collect()
}

fn ended(status: &str) -> (String, Option<String>, bool) {
    (status.to_owned(), Some("unreadable".to_owned()), false)
}

db_test! {
    async fn what_cannot_be_read_fails_and_the_rest_runs(db: Db) {
        let house = House::new(&db).await;
        let mut ids = Vec::new();
        for _ in 0..4 {
            ids.push(house.submit("complete").await);
        }
        spoil(&db, &ids[..3]).await;
        house.run_all().await;
        assert_eq!(house.status(&ids[3]).await, "completed");
        for id in &ids[..3] {
            assert_eq!(look(&db, id).await, ended("failed"));
            assert_eq!(event_types(&db, id).await, ["created", "queued", "started", "failed"]);
        }
        assert_eq!(house.items().await.len(), 4, "a list reads nothing that it does not show");
        // It can be asked for again, and fails again.
        let admin = caller(Role::SuperAdmin, "u");
        assert!(house.jobs.act(&admin, Verb::Retry, &ids[0]).await.unwrap().ok);
        house.run_all().await;
        assert_eq!(look(&db, &ids[0]).await, ended("failed"));
    }

    async fn what_a_worker_left_is_ended_whether_it_can_be_read_or_not(db: Db) {
        let gone = House::new(&db).await;
        let mut ids = Vec::new();
        for _ in 0..4 {
            ids.push(gone.submit("complete").await);
        }
        assert_eq!(gone.claim().await.len(), 4);
        let admin = caller(Role::SuperAdmin, "u");
        assert!(gone.jobs.act(&admin, Verb::Cancel, &ids[2]).await.unwrap().ok);
        spoil(&db, &ids[..3]).await;
        gone.advance(Duration::from_mins(6));
        let next = gone.beside();
        next.jobs.tell_stalled().await.unwrap();
        next.jobs.recover().await.unwrap();
        assert_eq!(next.job(&ids[3]).await.error_code.as_deref(), Some("interrupted"));
        // Of the first only the input is damaged, which is not read to end it.
        assert_eq!(look(&db, &ids[0]).await.1.as_deref(), Some("interrupted"));
        assert_eq!(look(&db, &ids[1]).await, ended("failed"));
        assert_eq!(look(&db, &ids[2]).await, ended("cancelled"));
        assert_eq!(event_types(&db, &ids[1]).await, ["created", "queued", "started", "stalled", "failed"]);
        assert_eq!(event_types(&db, &ids[2]).await, ["created", "queued", "started", "cancelling", "cancelled"]);
    }

    async fn what_could_not_be_read_again_is_not_stored(db: Db) {
        let house = House::new(&db).await;
        let nested = (0..127).fold(json!(1), |inner, _| json!([inner]));
        let id = house.jobs.submit(NewJob::new(WORK, json!({ "do": ["complete"], "deep": nested }))).await;
        let refused = id.unwrap_err();
        assert!(matches!(refused, JobsError::TooDeep { what: "input", .. }), "{refused}");
        let nested = (0..100).fold(json!(1), |inner, _| json!([inner]));
        let id = house.jobs.submit(NewJob::new(WORK, json!({ "do": ["complete"], "deep": nested }))).await.unwrap();
        house.run_all().await;
        assert_eq!(house.status(&id).await, "completed");
    }

    async fn where_there_may_be_another_server_an_unknown_type_waits_for_it(db: Db) {
        let gone = House::new(&db).await;
        gone.jobs.register(type_of("test.gone", Arc::new(Script(gone.stage.clone()))));
        let later = gone.beside();
        let old = gone.jobs.submit(NewJob::new("test.gone", json!({}))).await.unwrap();
        let new = gone.jobs.submit(NewJob::new("test.gone", json!({}))).await.unwrap();
        let mut tx = db.begin_write().await.unwrap();
        qm_db::exec!(&mut tx, AGE, &old).await.unwrap().exactly(1).unwrap();
        // One that waits for its next attempt is given up as well.
        qm_db::exec!(&mut tx, PUT_OFF, &old, START_MS + 60_000).await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        later.jobs.recover().await.unwrap();
        let job = later.job(&old).await;
        assert_eq!((job.status, job.error_code.as_deref()), (Status::Failed, Some("interrupted")));
        assert!(job.error_message.unwrap().contains("`test.gone`"));
        assert_eq!(later.event_types(&old).await, ["created", "queued", "started", "failed"]);
        let waits = db.backend() == Backend::Postgres;
        assert_eq!(later.status(&new).await, if waits { "queued" } else { "failed" });
        if waits {
            gone.run_all().await;
            assert_eq!(gone.status(&new).await, "completed", "the other one knows it");
        }
    }

    async fn what_was_put_off_since_it_was_looked_for_is_not_taken_early(db: Db) {
        let house = House::new(&db).await;
        let id = house.submit("complete").await;
        let look = house.jobs.look_for_work().await.unwrap();
        assert_eq!((look.ids.as_slice(), look.due), ([id.clone()].as_slice(), None));
        let mut tx = db.begin_write().await.unwrap();
        qm_db::exec!(&mut tx, PUT_OFF, &id, START_MS + 1000).await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        assert!(house.jobs.claim(&look.ids).await.unwrap().is_empty());
        let look = house.jobs.look_for_work().await.unwrap();
        assert_eq!((look.ids.len(), look.due), (0, Some(Timestamp::from_ms(START_MS + 1000))));
        house.advance(Duration::from_secs(1));
        assert_eq!(house.claim().await.len(), 1);
    }
}
