//! Tests of actions of users on jobs and of the permissions they need.

use qm_db::{Db, FromRow, Json, db_test};

use super::*;
use crate::error::JobsError;
use crate::model::job::Visibility;
use crate::model::outcome::Acted;
use crate::model::status::Status;
use crate::model::view::Wanted;
use crate::service::actions::Verb;

sql! {
    AUDITED = "SELECT user_id, action, object_id, result, metadata FROM audit_logs ORDER BY created_at, id";
}

#[derive(FromRow)]
struct Audited {
    user_id: Option<String>,
    action: String,
    object_id: Option<String>,
    result: String,
    metadata: Json<Value>,
}

async fn audited(db: &Db) -> Vec<Audited> {
    let mut tx = db.begin_read().await.unwrap();
    qm_db::all!(&mut tx, Audited, AUDITED).await.unwrap()
}

fn no(reason: Option<&'static str>) -> Acted {
    Acted {
        ok: false,
        job_id: None,
        reason,
    }
}

fn done(id: &str) -> Acted {
    Acted {
        ok: true,
        job_id: Some(id.to_owned()),
        reason: None,
    }
}

db_test! {
    async fn what_is_queued_is_cancelled_at_once_and_what_runs_is_asked(db: Db) {
        let house = House::new(&db).await;
        let admin = caller(Role::SuperAdmin, "u");
        let queued = house.submit("complete").await;
        assert_eq!(house.jobs.act(&admin, Verb::Cancel, &queued).await.unwrap(), done(&queued));
        assert_eq!(house.status(&queued).await, "cancelled");
        assert_eq!(house.jobs.act(&admin, Verb::Cancel, &queued).await.unwrap(), no(None));
        // One that heeds it, one that ends well all the same.
        for word in ["obey", "wait"] {
            let id = house.submit(word).await;
            house.jobs.dispatch().await.unwrap();
            house.heard(&format!("job:{word}")).await;
            assert_eq!(house.jobs.act(&admin, Verb::Cancel, &id).await.unwrap(), done(&id));
            if word == "wait" {
                house.stage.go.notify_one();
            }
            house.settled().await;
            let job = house.job(&id).await;
            assert_eq!((job.status, job.error_code), (Status::Cancelled, None), "{word}");
            let told = house.event_types(&id).await;
            assert_eq!(told[3..], ["cancelling", "cancelled"], "{word}");
        }
        let rows = audited(&db).await;
        let mut results: Vec<&str> = rows.iter().map(|row| row.result.as_str()).collect();
        // All of them at one instant of this clock, so in no order.
        results.sort_unstable();
        assert_eq!(results, ["failure", "success", "success", "success"]);
        assert!(rows.iter().all(|row| row.action == "jobs.cancel" && row.user_id.as_deref() == Some("u")));
        let row = rows.iter().find(|row| row.object_id.as_deref() == Some(queued.as_str())).expect("a row of it");
        assert_eq!(row.metadata.0, json!({ "type": WORK, "reason": null, "newJobId": null }));
    }

    async fn a_paused_job_goes_on_from_its_checkpoint(db: Db) {
        let house = House::new(&db).await;
        let admin = caller(Role::SuperAdmin, "u");
        let id = house.submit("pause").await;
        assert_eq!(house.jobs.act(&admin, Verb::Pause, &id).await.unwrap(), no(None), "it does not run");
        house.jobs.dispatch().await.unwrap();
        assert_eq!(house.jobs.act(&admin, Verb::Pause, &id).await.unwrap(), done(&id));
        house.settled().await;
        let paused = house.job(&id).await;
        assert_eq!(paused.status, Status::Paused);
        assert!(paused.paused_at.is_some() && paused.lease_owner.is_none());
        assert_eq!(house.jobs.act(&admin, Verb::Resume, &id).await.unwrap(), done(&id));
        house.run_all().await;
        assert_eq!(house.status(&id).await, "completed");
        assert_eq!(house.stage.spoken_lines().last().unwrap(), r#"job:from {"at":7}"#);
        assert_eq!(house.event_types(&id).await, [
            "created", "queued", "started", "pausing", "paused", "resumed", "started", "completed",
        ]);
        assert_eq!(house.jobs.act(&admin, Verb::Resume, &id).await.unwrap(), no(Some("not_resumable")));
    }

    async fn a_job_that_is_done_before_it_could_pause_is_done(db: Db) {
        let house = House::new(&db).await;
        let admin = caller(Role::SuperAdmin, "u");
        let id = house.submit("wait").await;
        house.jobs.dispatch().await.unwrap();
        house.heard("job:wait").await;
        assert!(house.jobs.act(&admin, Verb::Pause, &id).await.unwrap().ok);
        house.stage.go.notify_one();
        house.settled().await;
        assert_eq!(house.status(&id).await, "completed");
    }

    async fn a_failed_job_gets_another_attempt_beyond_its_number(db: Db) {
        let house = House::new(&db).await;
        let admin = caller(Role::SuperAdmin, "u");
        let new = NewJob { idempotency_key: Some("k".into()), ..work(&["fail", "complete"]) };
        let id = house.jobs.submit(new.clone()).await.unwrap();
        assert_eq!(house.jobs.act(&admin, Verb::Retry, &id).await.unwrap(), no(Some("not_failed")));
        house.run_all().await;
        assert_eq!(house.status(&id).await, "failed");
        let twin = house.jobs.submit(new).await.unwrap();
        assert_ne!(twin, id);
        assert_eq!(house.jobs.act(&admin, Verb::Retry, &id).await.unwrap(), no(Some("already_active")));
        house.run_all().await;
        assert_eq!(house.jobs.act(&admin, Verb::Retry, &id).await.unwrap(), done(&id));
        house.run_all().await;
        let job = house.job(&id).await;
        assert_eq!((job.status, job.attempt, job.max_attempts), (Status::Completed, 2, 1));
    }

    async fn a_rerun_is_a_new_job_of_whoever_asked(db: Db) {
        let house = House::new(&db).await;
        let new = NewJob {
            name: Some("n".into()), created_by: Some("u".into()), correlation_id: Some("c".into()),
            library_id: Some("l".into()), ..work(&["complete"])
        };
        let id = house.jobs.submit(new).await.unwrap();
        house.run_all().await;
        let other = caller(Role::Administrator, "v");
        let acted = house.jobs.act(&other, Verb::Rerun, &id).await.unwrap();
        let again = acted.job_id.clone().unwrap();
        assert!(acted.ok && again != id);
        house.run_all().await;
        let job = house.job(&again).await;
        assert_eq!((job.status, job.source.as_str()), (Status::Completed, "manual"));
        assert_eq!((job.created_by_id.as_deref(), job.name.as_deref()), (Some("v"), Some("n")));
        assert_eq!((job.correlation_id.as_deref(), job.library_id.as_deref()), (Some("c"), Some("l")));
        assert_eq!(job.metadata, Some(json!({ "rerunOfJobId": id })));
        assert_eq!(house.stage.spoken_lines(), ["job:complete", "job:complete"]);
        let rows = audited(&db).await;
        assert_eq!(rows[0].metadata.0["newJobId"], again.as_str());
    }

    async fn a_type_that_may_not_says_so(db: Db) {
        let house = House::new(&db).await;
        let admin = caller(Role::SuperAdmin, "u");
        let plain = JobType {
            capabilities: Capabilities::default(),
            ..type_of("test.plain", Arc::new(Script(house.stage.clone())))
        };
        house.jobs.register(plain);
        let id = house.jobs.submit(NewJob::new("test.plain", json!({ "do": ["fail"] }))).await.unwrap();
        let refused = house.jobs.act(&admin, Verb::Cancel, &id).await.unwrap_err();
        assert!(matches!(refused, JobsError::NotCancellable), "{refused}");
        assert_eq!(house.jobs.act(&admin, Verb::Pause, &id).await.unwrap(), no(Some("not_pausable")));
        assert_eq!(house.jobs.act(&admin, Verb::Resume, &id).await.unwrap(), no(Some("not_resumable")));
        assert_eq!(house.jobs.act(&admin, Verb::Retry, &id).await.unwrap(), no(Some("not_retryable")));
        assert_eq!(audited(&db).await.len(), 3, "a refusal is not audited");
    }

    async fn what_people_may_not_retry_the_service_repeats(db: Db) {
        let house = House::new(&db).await;
        let admin = caller(Role::SuperAdmin, "u");
        let plain = JobType {
            capabilities: Capabilities::default(),
            max_attempts: 2,
            ..type_of("test.plain", Arc::new(Script(house.stage.clone())))
        };
        house.jobs.register(plain);
        let id = house.jobs.submit(NewJob::new("test.plain", json!({ "do": ["fail", "fail"] }))).await.unwrap();
        house.run_all().await;
        let job = house.job(&id).await;
        assert_eq!((job.status, job.attempt), (Status::Queued, 2), "its own second attempt");
        house.advance(std::time::Duration::from_secs(1));
        house.run_all().await;
        assert_eq!(house.job(&id).await.status, Status::Failed);
        assert_eq!(house.jobs.act(&admin, Verb::Retry, &id).await.unwrap(), no(Some("not_retryable")));
    }

    async fn who_sees_a_job_and_who_controls_it(db: Db) {
        use Permission as P;
        let house = House::new(&db).await;
        let guarded = JobType {
            required_permission: Some(P::FilesView),
            ..type_of("test.guarded", Arc::new(Script(house.stage.clone())))
        };
        house.jobs.register(guarded);
        let make = |type_key, visibility, creator: Option<&str>| NewJob {
            visibility, created_by: creator.map(str::to_owned), ..NewJob::new(type_key, json!({}))
        };
        let jobs = [
            make(WORK, Visibility::Module, None),
            make("test.guarded", Visibility::Module, None),
            make("test.guarded", Visibility::Public, None),
            make("test.guarded", Visibility::Module, Some("v")),
            make(WORK, Visibility::Own, Some("u")),
            make(WORK, Visibility::Own, None),
        ];
        let mut ids = Vec::new();
        for job in jobs {
            ids.push(house.jobs.submit(job).await.unwrap());
            house.advance(Duration::from_millis(1));
        }
        let everything = [0, 1, 2, 3, 4, 5];
        for (who, seen) in [
            (caller(Role::SuperAdmin, "x"), &everything[..]),
            (holder("x", &[P::JobsViewAll]), &everything),
            (holder("x", &[P::JobsAdmin]), &everything),
            (holder("x", &[]), &[0, 2]),
            (holder("x", &[P::FilesView]), &[0, 1, 2, 3]),
            (holder("v", &[]), &[0, 2, 3]),
            (holder("u", &[]), &[0, 2, 4]),
            (holder("u", &[P::FilesView]), &[0, 1, 2, 3, 4]),
        ] {
            let page = PageQuery { page: 1, page_size: 50 };
            let wanted = Wanted { ascending: true, ..Default::default() };
            let (listed, total) = house.jobs.list(&who.principal, &wanted, page).await.unwrap();
            let listed: Vec<&str> = listed.iter().map(|job| job.id.as_str()).collect();
            let expected: Vec<&str> = seen.iter().map(|index| ids[*index].as_str()).collect();
            assert_eq!((listed, total), (expected, seen.len() as u64), "{:?}", who.principal);
            let overview = house.jobs.overview(&who.principal).await.unwrap();
            assert_eq!(overview.count(Status::Queued), seen.len() as u64);
            for (index, id) in ids.iter().enumerate() {
                let found = house.jobs.get(&who.principal, id).await;
                assert_eq!(found.is_ok(), seen.contains(&index), "job {index}: the list and the look agree");
            }
        }
        // To see all of them is not the right to control them.
        let watcher = holder("x", &[P::JobsViewAll, P::JobsCancel]);
        let refused = house.jobs.act(&watcher, Verb::Cancel, &ids[1]).await.unwrap_err();
        assert_eq!(refused.to_string(), "This job requires files.view");
        let hidden = house.jobs.act(&holder("x", &[P::JobsCancel]), Verb::Cancel, &ids[1]).await.unwrap_err();
        assert!(matches!(hidden, JobsError::NotFound), "{hidden}");
        assert!(house.jobs.act(&holder("x", &[P::FilesView]), Verb::Cancel, &ids[1]).await.unwrap().ok);
    }

    async fn many_at_once_each_for_itself(db: Db) {
        use Permission as P;
        let house = House::new(&db).await;
        let guarded = JobType {
            required_permission: Some(P::FilesView),
            ..type_of("test.guarded", Arc::new(Script(house.stage.clone())))
        };
        house.jobs.register(guarded);
        let plain = house.submit("complete").await;
        let foreign = house.jobs.submit(NewJob { visibility: Visibility::Public, ..NewJob::new("test.guarded", json!({})) }).await.unwrap();
        let ended = house.submit("complete").await;
        let who = holder("u", &[]);
        house.jobs.act(&who, Verb::Cancel, &ended).await.unwrap();
        let ids = vec![plain.clone(), plain.clone(), foreign.clone(), ended.clone(), "nobody".into(), "a\0b".into()];
        let outcome = house.jobs.act_on_many(&who, Verb::Cancel, "jobs.bulk_cancel", ids).await;
        assert_eq!((outcome.total, outcome.succeeded), (6, vec![plain]));
        let failed: Vec<(&str, &str)> = outcome.failed.iter().map(|(id, reason)| (id.as_str(), *reason)).collect();
        assert_eq!(failed, [
            (foreign.as_str(), "forbidden"), (ended.as_str(), "failed"), ("nobody", "not_found"), ("a\0b", "not_found"),
        ]);
        let rows = audited(&db).await;
        let bulk = rows.iter().find(|row| row.action == "jobs.bulk_cancel").expect("a row");
        assert_eq!(bulk.metadata.0, json!({ "requested": 6, "succeeded": 1, "failed": 4 }));
        assert_eq!(rows.iter().filter(|row| row.action == "jobs.cancel").count(), 3, "and one a job that was asked");
    }
}
