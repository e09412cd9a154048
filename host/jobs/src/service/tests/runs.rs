//! Tests of running jobs and their results.

use std::time::Duration;

use qm_db::{Db, db_test};
use serde_json::json;

use super::super::settle::{Ended, Outcome};
use super::*;
use crate::model::event::Source;
use crate::model::status::Status;
use crate::repo::moves::Lease;

db_test! {
    async fn a_job_runs_and_tells_of_it(db: Db) {
        let house = House::new(&db).await;
        let new = NewJob {
            input_summary: Some(json!({ "path": "/x", "apiKey": "k" })),
            name: Some("the name".into()),
            source: Source::Automation,
            created_by: Some("u".into()),
            resource: Some(("torrent".into(), "abc".into())),
            metadata: Some(json!({ "cookie": "c", "n": 1 })),
            timeout: Some(Duration::from_mins(1)),
            ..work(&["complete"])
        };
        let id = house.jobs.submit(new).await.unwrap();
        let queued = house.job(&id).await;
        assert_eq!((queued.status, queued.root_job_id.as_str(), queued.attempt), (Status::Queued, id.as_str(), 1));
        assert_eq!(queued.input_summary, Some(json!({ "path": "/x", "apiKey": "[redacted]" })));
        assert_eq!(queued.metadata, Some(json!({ "cookie": "[redacted]", "n": 1 })));
        house.advance(Duration::from_secs(5));
        house.run_all().await;
        let done = house.job(&id).await;
        assert_eq!((done.status, done.progress_percent), (Status::Completed, 100));
        assert_eq!(done.result_summary, Some(json!({ "name": "job", "token": "[redacted]" })));
        assert_eq!((done.created_by_id.as_deref(), done.source.as_str()), (Some("u"), "automation"));
        assert_eq!((done.resource_type.as_deref(), done.resource_id.as_deref()), (Some("torrent"), Some("abc")));
        assert_eq!(done.timeout_seconds, Some(60));
        assert_eq!(done.queued_at.ms(), START_MS);
        assert_eq!((done.started_at.unwrap().ms(), done.completed_at.unwrap().ms()), (START_MS + 5000, START_MS + 5000));
        assert_eq!((done.lease_owner, done.worker_id), (None, Some(house.jobs.worker().id)));
        assert_eq!(house.event_types(&id).await, ["created", "queued", "started", "completed"]);
        assert_eq!(house.events(&id).await[3].level, "success");
    }

    async fn warnings_are_kept_and_change_the_end(db: Db) {
        let house = House::new(&db).await;
        let id = house.submit("warn").await;
        house.run_all().await;
        let job = house.job(&id).await;
        assert_eq!(job.status, Status::CompletedWithWarnings);
        let warnings = job.warnings.unwrap();
        assert_eq!(warnings[0]["message"], "disk at 91 %, password=[redacted]");
        let events = house.events(&id).await;
        assert_eq!(events[3].event_type, "warning");
        assert_eq!(events[3].message.as_deref(), Some("disk at 91 %, password=[redacted]"));
    }

    async fn of_endless_warnings_only_so_many_are_kept(db: Db) {
        let house = House::new(&db).await;
        let id = house.submit("wait").await;
        let claimed = house.claim().await.pop().unwrap();
        let context = house.jobs.context(claimed, false);
        let long = "é".repeat(5000);
        for _ in 0..60 {
            context.warning(&long).await.unwrap();
        }
        let kept = house.job(&id).await.warnings.unwrap();
        let count = kept.as_array().unwrap().len();
        assert!(kept.to_string().len() <= 64 * 1024 && (10..60).contains(&count), "{count} warnings");
        assert_eq!(house.event_types(&id).await.len(), 3 + count, "what is not kept is not told");
    }

    async fn a_failure_is_tried_again_after_growing_pauses(db: Db) {
        let house = House::new(&db).await;
        let new = NewJob { max_attempts: Some(3), ..work(&["fail", "fail", "complete"]) };
        let id = house.jobs.submit(new).await.unwrap();
        house.run_all().await;
        let job = house.job(&id).await;
        assert_eq!((job.status, job.attempt), (Status::Queued, 2));
        assert_eq!(job.retry_at.unwrap().ms(), START_MS + 1000);
        assert_eq!(job.error_message.as_deref(), Some("it broke, token=[redacted]"));
        house.advance(Duration::from_millis(999));
        house.run_all().await;
        assert_eq!(house.job(&id).await.attempt, 2, "it is too early");
        house.advance(Duration::from_millis(1));
        house.run_all().await;
        let job = house.job(&id).await;
        assert_eq!((job.attempt, job.retry_at.unwrap().ms()), (3, START_MS + 1000 + 2000));
        house.advance(Duration::from_secs(2));
        house.run_all().await;
        let job = house.job(&id).await;
        assert_eq!((job.status, job.attempt, job.error_code), (Status::Completed, 3, None));
        assert_eq!(house.event_types(&id).await, [
            "created", "queued", "started", "retry_scheduled", "queued", "started", "retry_scheduled", "queued", "started",
            "completed",
        ]);
        let scheduled = &house.events(&id).await[3];
        assert_eq!(scheduled.metadata, Some(json!({ "attempt": 2, "delayMs": 1000 })));
    }

    async fn what_may_not_or_need_not_be_tried_again_has_failed(db: Db) {
        let house = House::new(&db).await;
        let mut ids = Vec::new();
        for (word, attempts, code) in [
            ("fail", 1, "broken"), ("fail for good", 5, "broken"), ("panic", 1, "panic"),
        ] {
            let new = NewJob { max_attempts: Some(attempts), ..work(&[word]) };
            ids.push((house.jobs.submit(new).await.unwrap(), code));
        }
        house.run_all().await;
        for (id, code) in ids {
            let job = house.job(&id).await;
            assert_eq!((job.status, job.error_code.as_deref(), job.attempt), (Status::Failed, Some(code), 1));
            assert!(job.failed_at.is_some() && job.completed_at == job.failed_at, "it has ended");
            assert_eq!(house.event_types(&id).await, ["created", "queued", "started", "failed"]);
        }
    }

    async fn a_run_that_takes_too_long_fails(db: Db) {
        let house = House::new(&db).await;
        let new = NewJob { timeout: Some(Duration::from_secs(1)), ..work(&["hang"]) };
        let id = house.jobs.submit(new).await.unwrap();
        house.run_all().await;
        let job = house.job(&id).await;
        assert_eq!((job.status, job.error_code.as_deref()), (Status::Failed, Some("timeout")));
    }

    async fn progress_is_written_once_a_second_and_at_its_end(db: Db) {
        let house = House::new(&db).await;
        let id = house.submit("progress").await;
        house.run_all().await;
        let told: Vec<_> = house.events(&id).await.into_iter().map(|event| (event.event_type, event.progress)).collect();
        let told: Vec<_> = told.iter().map(|(kind, progress)| (kind.as_str(), *progress)).collect();
        // The one of 10 % came too soon, and so did the last one.
        assert_eq!(told, [
            ("created", None), ("queued", None), ("started", None), ("progress", Some(5)), ("progress", Some(100)),
            ("completed", Some(100)),
        ]);
    }

    async fn an_active_job_answers_for_its_idempotency_key(db: Db) {
        let house = House::new(&db).await;
        let new = || NewJob { idempotency_key: Some("k".into()), ..work(&["complete"]) };
        let first = house.jobs.submit(new()).await.unwrap();
        assert_eq!(house.jobs.submit(new()).await.unwrap(), first);
        let mut tx = db.begin_write().await.unwrap();
        let again = house.jobs.enqueue(&mut tx, new()).await.unwrap();
        assert_eq!((again.id(), again.is_fresh()), (first.as_str(), false));
        drop(tx);
        house.run_all().await;
        let second = house.jobs.submit(new()).await.unwrap();
        assert_ne!(second, first, "the first one has ended");
        assert_eq!(house.all().await.len(), 2);
    }

    async fn what_is_not_committed_never_was(db: Db) {
        let house = House::new(&db).await;
        let mut tx = db.begin_write().await.unwrap();
        let enqueued = house.jobs.enqueue(&mut tx, work(&["complete"])).await.unwrap();
        assert!(enqueued.is_fresh());
        drop(tx);
        house.run_all().await;
        assert!(house.all().await.is_empty() && house.stage.spoken_lines().is_empty());
    }

    async fn a_child_belongs_to_its_parent(db: Db) {
        let house = House::new(&db).await;
        let new = NewJob { created_by: Some("u".into()), correlation_id: Some("c".into()), ..work(&["child"]) };
        let id = house.jobs.submit(new).await.unwrap();
        house.run_all().await;
        let child = house.all().await.into_iter().find(|job| job.id != id).expect("a child");
        assert_eq!((child.parent_job_id.as_deref(), &child.root_job_id), (Some(id.as_str()), &id));
        assert_eq!((child.created_by_id.as_deref(), child.correlation_id.as_deref()), (Some("u"), Some("c")));
        assert_eq!(child.status, Status::Completed);
        assert_eq!(house.event_types(&id).await, ["created", "queued", "started", "child_created", "completed"]);
        let admin = caller(Role::SuperAdmin, "u");
        let children = house.jobs.children(&admin.principal, &id).await.unwrap();
        assert_eq!(children, [child.item()]);
    }

    async fn the_urgent_first_and_no_more_at_once_than_may_be(db: Db) {
        let house = House::new(&db).await;
        let house = house.at_pace(Pace { places: Some(1), ..pace() });
        for (name, priority) in [("low", -5), ("one", 0), ("two", 0), ("high", 10)] {
            let input = json!({ "name": name, "do": ["complete"] });
            house.jobs.submit(NewJob { priority, ..NewJob::new(WORK, input) }).await.unwrap();
            house.advance(Duration::from_millis(1));
        }
        house.run_all().await;
        assert_eq!(house.stage.spoken_lines(), ["high:complete", "one:complete", "two:complete", "low:complete"]);

        let house = house.at_pace(Pace { places: Some(3), ..pace() });
        let single = JobType { at_once: Some(1), ..type_of("test.single", Arc::new(Script(house.stage.clone()))) };
        house.jobs.register(single);
        for _ in 0..2 {
            let urgent = NewJob { priority: 1, ..NewJob::new("test.single", json!({ "do": ["wait"] })) };
            house.jobs.submit(urgent).await.unwrap();
        }
        for _ in 0..3 {
            house.submit("wait").await;
        }
        house.jobs.dispatch().await.unwrap();
        assert_eq!(house.jobs.0.running_jobs.len(), 3, "all places are taken");
        assert_eq!(house.jobs.0.running_jobs.count_of("test.single"), 1, "of this type there may be one");
        house.jobs.dispatch().await.unwrap();
        assert_eq!(house.jobs.0.running_jobs.len(), 3);
        for _ in 0..5 {
            until("somebody to wait", || house.jobs.0.running_jobs.len() > 0).await;
            house.jobs.dispatch().await.unwrap();
            let before = house.all().await.iter().filter(|job| job.status == Status::Completed).count();
            house.stage.go.notify_one();
            loop {
                let now = house.all().await.iter().filter(|job| job.status == Status::Completed).count();
                if now > before {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            until("a place to come free", || house.jobs.0.running_jobs.len() < 3).await;
        }
        house.settled().await;
    }

    async fn the_second_job_of_a_user_takes_no_place_from_others(db: Db) {
        let house = House::new(&db).await;
        let house = house.at_pace(Pace { places: Some(4), ..pace() });
        let fair = JobType {
            at_once: Some(2),
            at_once_of_one: Some(1),
            ..type_of("test.fair", Arc::new(Script(house.stage.clone())))
        };
        house.jobs.register(fair);
        let submit = async |name: &str, user: Option<&str>| {
            let input = json!({ "name": name, "do": ["wait"] });
            let created_by = user.map(str::to_owned);
            house.jobs.submit(NewJob { created_by, ..NewJob::new("test.fair", input) }).await.unwrap();
            house.advance(Duration::from_millis(1));
        };
        for (name, user) in [("u1", "u"), ("u2", "u"), ("u3", "u"), ("v1", "v"), ("v2", "v")] {
            submit(name, Some(user)).await;
        }
        let begun = async || {
            let claimed = house.claim().await.into_iter();
            let named = claimed.map(|claimed| (claimed.input.unwrap()["name"].as_str().unwrap().to_owned(), claimed.lease));
            named.unzip::<_, _, Vec<_>, Vec<_>>()
        };
        let end = async |lease: &Lease| {
            let (lease, outcome) = (lease.clone(), Outcome::Done(Done::nothing()));
            house.jobs.settle(Ended { lease, outcome, unstored: None }).await;
        };
        let (names, first) = begun().await;
        assert_eq!(names, ["u1", "v1"], "one of each, although another of `u` has waited longer");
        assert_eq!(begun().await.0, [""; 0], "the places that are left are of no use to them");
        end(&first[0]).await;
        let (names, second) = begun().await;
        assert_eq!(names, ["u2"]);
        end(&first[1]).await;
        end(&second[0]).await;
        assert_eq!(begun().await.0, ["u3", "v2"]);
        // What the service itself began is not counted.
        for name in ["one", "two"] {
            submit(name, None).await;
        }
        assert_eq!(begun().await.0, ["one", "two"]);
    }

    async fn too_much_input_and_unknown_types_are_refused(db: Db) {
        let house = House::new(&db).await;
        let large = NewJob::new(WORK, json!("x".repeat(300_000)));
        let error = house.jobs.submit(large).await.unwrap_err().to_string();
        assert!(error.contains("input") && error.contains("300002"), "{error}");
        let error = house.jobs.submit(NewJob::new("no.such", json!({}))).await.unwrap_err().to_string();
        assert!(error.contains("`no.such`"), "{error}");
        assert!(house.all().await.is_empty());
    }
}
