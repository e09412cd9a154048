//! Tests of hosted jobs.

use std::sync::atomic::{AtomicU64, Ordering};

use qm_db::{Db, db_test};

use super::*;
use crate::error::JobsError;
use crate::model::job::{Job, Visibility};
use crate::model::status::Status;
use crate::service::actions::Verb;
use crate::service::hosted::Hosted;

const HOSTED: &str = "test.hosted";

async fn begin(house: &House) -> Hosted {
    house
        .jobs
        .register(JobType::hosted(HOSTED, "files", "jobs.test", None));
    let new = NewJob {
        visibility: Visibility::Own,
        created_by: Some("u".into()),
        input_summary: Some(json!({ "source": "/a" })),
        ..NewJob::new(HOSTED, json!({ "a": 1 }))
    };
    house.jobs.begin_awaited(new).await.unwrap()
}

/// Count of what is done, of four, which is the progress of the job.
fn count_done(hosted: &Hosted) -> Arc<AtomicU64> {
    let done = Arc::new(AtomicU64::new(0));
    let counted = done.clone();
    hosted.follow_progress(move || Progress::from_counts(counted.load(Ordering::SeqCst), 4));
    done
}

/// Waits until a job has this event.
async fn wait_for_event(house: &House, id: &str, event_type: &str) {
    let waiting = async {
        while !house
            .event_types(id)
            .await
            .iter()
            .any(|stored| stored == event_type)
        {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_mins(1), waiting).await;
    waited.unwrap_or_else(|_| panic!("waited in vain for the event {event_type}"));
}

db_test! {
    async fn a_hosted_job_runs_at_once_and_takes_no_place(db: Db) {
        let house = House::new(&db).await.at_pace(Pace { places: Some(1), progress_gap: Duration::from_millis(5), ..pace() });
        let hosted = begin(&house).await;
        let id = hosted.id().to_owned();
        assert_eq!(house.status(&id).await, "running");
        let worked = house.submit("complete").await;
        house.jobs.dispatch().await.unwrap();
        until("the other job to end", || house.jobs.0.running_jobs.len() == 1).await;
        assert_eq!(house.status(&worked).await, "completed");
        // Its lease is prolonged as any other's.
        let other = house.beside();
        for _ in 0..3 {
            house.advance(Duration::from_secs(20));
            house.jobs.tend().await;
            other.jobs.tend().await;
        }
        let done = count_done(&hosted);
        done.store(1, Ordering::SeqCst);
        wait_for_event(&house, &id, "progress").await;
        let listed = other.jobs.hosted_of("files").await.unwrap();
        assert_eq!((listed.len(), listed[0].id.as_str(), listed[0].created_by.as_deref()), (1, id.as_str(), Some("u")));
        assert_eq!((listed[0].progress_current, listed[0].is_cancelling), (Some(1), false));
        assert_eq!(house.jobs.hosted_of("files").await.unwrap(), listed, "stored, and as it is now");
        hosted.end(Some("one was left".into()), Ok(Done::result(json!({ "bytes": 3 }))));
        house.settled().await;
        let job = house.job(&id).await;
        assert_eq!((job.status, job.result_summary), (Status::CompletedWithWarnings, Some(json!({ "bytes": 3 }))));
        assert_eq!(job.warnings.unwrap()[0]["message"], "one was left");
        assert_eq!(house.event_types(&id).await, ["created", "queued", "started", "progress", "warning", "completed"]);
        assert!(house.jobs.hosted_of("files").await.unwrap().is_empty());
        // Nobody can have it done again.
        let admin = caller(Role::SuperAdmin, "u");
        let refused = house.jobs.act(&admin, Verb::Rerun, &id).await.unwrap_err();
        assert!(matches!(refused, JobsError::NotRerunnable), "{refused}");
        assert_eq!(house.jobs.act(&admin, Verb::Retry, &id).await.unwrap().reason, Some("not_retryable"));
    }

    async fn a_progress_that_was_not_stored_is_stored_later(db: Db) {
        let house = House::new(&db).await.at_pace(Pace { progress_gap: Duration::from_millis(5), ..pace() });
        let hosted = begin(&house).await;
        let id = hosted.id().to_owned();
        let (done, asked) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let counted = (done.clone(), asked.clone());
        hosted.follow_progress(move || {
            counted.1.fetch_add(1, Ordering::SeqCst);
            Progress::from_counts(counted.0.load(Ordering::SeqCst), 4)
        });
        done.store(1, Ordering::SeqCst);
        wait_for_event(&house, &id, "progress").await;
        // The clock stands, so this comes too soon after the first, however often it is told.
        done.store(2, Ordering::SeqCst);
        let before = asked.load(Ordering::SeqCst);
        until("it to be asked for twice", || asked.load(Ordering::SeqCst) > before + 2).await;
        assert_eq!(house.job(&id).await.progress_current, Some(1));
        house.advance(Duration::from_secs(1));
        let waiting = async {
            while house.job(&id).await.progress_current != Some(2) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), waiting).await.expect("the second is stored");
        hosted.end(None, Ok(Done::result(json!({}))));
        house.settled().await;
    }

    async fn a_hosted_job_hears_that_it_is_cancelled_from_wherever(db: Db) {
        let house = House::new(&db).await;
        let admin = caller(Role::SuperAdmin, "u");
        let other = house.beside();
        // By the action, by its area, and by its area on another server.
        for how in 0..3 {
            let hosted = begin(&house).await;
            let id = hosted.id().to_owned();
            match how {
                0 => assert!(house.jobs.act(&admin, Verb::Cancel, &id).await.unwrap().ok),
                1 => assert!(house.jobs.cancel_hosted(&id).await.unwrap()),
                _ => assert!(other.jobs.cancel_hosted(&id).await.unwrap()),
            }
            if how == 2 {
                assert!(!hosted.cancellation().is_cancelled());
                house.jobs.tend().await;
            }
            assert!(hosted.cancellation().is_cancelled());
            assert!(!house.jobs.cancel_hosted(&id).await.unwrap(), "it was told already");
            assert!(house.jobs.hosted_of("files").await.unwrap()[0].is_cancelling);
            hosted.end(None, Err(JobError::new("cancelled", "it was stopped").permanent()));
            house.settled().await;
            assert_eq!((house.status(&id).await.as_str(), house.event_types(&id).await.len()), ("cancelled", 5));
        }
    }

    async fn work_that_ends_soon_is_stored_once_with_its_end(db: Db) {
        let house = House::new(&db).await.at_pace(Pace { unstored_limit: Duration::from_mins(10), ..pace() });
        let (done, failed, dropped) = (begin(&house).await, begin(&house).await, begin(&house).await);
        let ids = [done.id().to_owned(), failed.id().to_owned(), dropped.id().to_owned()];
        let stored = house.all().await.len();
        // On PostgreSQL the write is also what tells a server that it is the active one no more.
        assert_eq!(stored, if db.backend() == qm_db::Backend::Sqlite { 0 } else { 3 });
        done.end(None, Ok(Done::result(json!({ "bytes": 3 }))));
        failed.end(None, Err(JobError::new("conflict.exists", "it is there").permanent()));
        drop(dropped);
        house.settled().await;
        let ends = [(Status::Completed, None), (Status::Failed, Some("conflict.exists")), (Status::Failed, Some("given_up"))];
        for (id, (status, code)) in ids.iter().zip(ends) {
            let job = house.job(id).await;
            assert_eq!((job.status, job.error_code.as_deref()), (status, code));
            assert_eq!((job.created_by_id.as_deref(), job.lease_owner.as_deref()), (Some("u"), None));
            assert!(job.started_at.is_some());
            let last = if code.is_none() { "completed" } else { "failed" };
            assert_eq!(house.event_types(id).await, ["created", "queued", "started", last]);
        }
        // What has a warning to tell, too.
        let warned = begin(&house).await;
        let id = warned.id().to_owned();
        warned.end(Some("one was left".into()), Ok(Done::nothing()));
        house.settled().await;
        assert_eq!(house.job(&id).await.status, Status::CompletedWithWarnings);
        assert_eq!(house.event_types(&id).await, ["created", "queued", "started", "warning", "completed"]);
    }

    async fn what_is_stored_once_looks_like_what_was_stored_on_its_way(db: Db) {
        let first = House::new(&db).await;
        let mut seen = Vec::new();
        for unstored_limit in [Duration::ZERO, Duration::from_mins(10)] {
            let house = first.at_pace(Pace { unstored_limit, ..pace() });
            let (done, failed) = (begin(&house).await, begin(&house).await);
            let ids = [done.id().to_owned(), failed.id().to_owned()];
            let figures = Done::Completed { result: Some(json!({ "bytes": 3 })), metrics: Some(json!({ "files": 1 })) };
            done.end(None, Ok(figures));
            failed.end(None, Err(JobError::new("conflict.exists", "it is there").permanent()));
            house.settled().await;
            for id in &ids {
                let job = house.job(id).await;
                // The heartbeat of work that was held is that of its hands.
                let heartbeat_at = job.started_at;
                seen.push((Job { id: String::new(), root_job_id: String::new(), heartbeat_at, ..job }, house.event_types(id).await));
            }
        }
        assert_eq!(seen[..2], seen[2..]);
    }

    async fn what_ends_about_then_is_written_together(db: Db) {
        let house = House::new(&db).await.at_pace(Pace {
            unstored_limit: Duration::from_mins(10),
            batch_delay: Duration::from_millis(20),
            ..pace()
        });
        // More than one transaction takes.
        let mut ids = Vec::new();
        for _ in 0..150 {
            let hosted = begin(&house).await;
            ids.push(hosted.id().to_owned());
            hosted.end(None, Ok(Done::nothing()));
        }
        house.settled().await;
        for id in &ids {
            assert_eq!(house.status(id).await, "completed");
        }
        assert_eq!(house.event_types(&ids[149]).await, ["created", "queued", "started", "completed"]);
    }

    async fn work_that_takes_longer_is_stored_while_it_goes_on(db: Db) {
        let house = House::new(&db).await.at_pace(Pace {
            unstored_limit: Duration::from_millis(20),
            progress_gap: Duration::from_millis(5),
            ..pace()
        });
        let hosted = begin(&house).await;
        let id = hosted.id().to_owned();
        until("the job to be stored", || house.jobs.0.running_jobs.get(&id).is_some()).await;
        assert_eq!(house.status(&id).await, "running");
        let done = count_done(&hosted);
        done.store(1, Ordering::SeqCst);
        wait_for_event(&house, &id, "progress").await;
        assert!(house.jobs.cancel_hosted(&id).await.unwrap());
        assert!(hosted.cancellation().is_cancelled());
        hosted.end(None, Err(JobError::new("cancelled", "it was stopped").permanent()));
        house.settled().await;
        assert_eq!(house.event_types(&id).await, ["created", "queued", "started", "progress", "cancelling", "cancelled"]);
    }

    async fn work_of_this_server_is_known_before_it_is_stored(db: Db) {
        let house = House::new(&db).await.at_pace(Pace { unstored_limit: Duration::from_mins(10), ..pace() });
        house.jobs.register(JobType::hosted(HOSTED, "files", "jobs.test", None));
        let summary = json!({ "source": format!("/{}", "x".repeat(3000)) });
        let new = NewJob {
            created_by: Some("u".into()),
            input_summary: Some(summary.clone()),
            resource: Some(("data_move".into(), "m1".into())),
            ..NewJob::new(HOSTED, json!({}))
        };
        let hosted = house.jobs.begin_awaited(new).await.unwrap();
        let done = Arc::new(AtomicU64::new(0));
        let counted = done.clone();
        hosted.follow_progress(move || Progress {
            message: Some(("jobs.test", json!({ "doneItems": 2 }))),
            ..Progress::from_counts(counted.load(Ordering::SeqCst), 9)
        });
        for count in [3, 4] {
            done.store(count, Ordering::SeqCst);
            let listed = house.jobs.hosted_of("files").await.unwrap();
            assert_eq!(listed.len(), 1);
            assert_eq!((listed[0].progress_current, listed[0].progress_total), (Some(count as i64), Some(9)));
            assert_eq!(listed[0].message_params, Some(json!({ "doneItems": 2 })));
            assert_eq!(listed[0].input_summary, Some(summary.clone()), "as it was given");
        }
        let found = house.jobs.find_hosted("files", |job| job.resource_id.as_deref() == Some("m1")).await.unwrap();
        let found = found.expect("it is found by its resource");
        assert_eq!((found.id.as_str(), found.created_by.as_deref(), found.is_cancelling), (hosted.id(), Some("u"), false));
        assert_eq!(house.jobs.find_hosted("torrents", |_| true).await.unwrap(), None);
        assert!(house.jobs.cancel_hosted(hosted.id()).await.unwrap());
        assert!(!house.jobs.cancel_hosted(hosted.id()).await.unwrap(), "it was asked already");
        assert!(hosted.cancellation().is_cancelled() && house.jobs.hosted_of("files").await.unwrap()[0].is_cancelling);
        hosted.end(None, Err(JobError::new("cancelled", "it was stopped").permanent()));
        assert_eq!(house.jobs.hosted_of("files").await.unwrap(), [], "it has ended, if perhaps not yet in the database");
        house.settled().await;
    }

    async fn all_work_of_a_module_here_is_ended(db: Db) {
        let house = House::new(&db).await;
        let other = house.beside();
        let (here, elsewhere) = (begin(&house).await, begin(&other).await);
        house.jobs.cancel_all_hosted("torrents");
        assert!(!here.cancellation().is_cancelled());
        house.jobs.cancel_all_hosted("files");
        assert!(here.cancellation().is_cancelled() && !elsewhere.cancellation().is_cancelled());
        let ended = Arc::new(AtomicU64::new(0));
        let (working, counted) = (begin(&house).await, ended.clone());
        let work = tokio::spawn(async move {
            working.cancellation().cancelled().await;
            counted.fetch_add(1, Ordering::SeqCst);
            drop(here);
            counted.fetch_add(1, Ordering::SeqCst);
            working.end(None, Ok(Done::nothing()));
        });
        house.jobs.end_all_hosted("files").await;
        assert_eq!(ended.load(Ordering::SeqCst), 2);
        work.await.unwrap();
        house.jobs.end_all_hosted("files").await;
        elsewhere.end(None, Ok(Done::nothing()));
        house.settled().await;
        other.settled().await;
    }

    async fn what_nobody_ends_has_failed(db: Db) {
        let house = House::new(&db).await;
        let (failed, dropped, stopped) = (begin(&house).await, begin(&house).await, begin(&house).await);
        let ids = [failed.id().to_owned(), dropped.id().to_owned(), stopped.id().to_owned()];
        failed.end(None, Err(JobError::new("conflict.exists", "it is there").permanent()));
        drop(dropped);
        until("two to end", || house.jobs.0.running_jobs.len() == 1).await;
        house.jobs.drain();
        assert!(stopped.cancellation().is_cancelled());
        stopped.end(None, Err(JobError::new("cancelled", "it was stopped").permanent()));
        house.jobs.shutdown().await;
        for (id, code) in ids.iter().zip(["conflict.exists", "given_up", "interrupted"]) {
            let job = house.job(id).await;
            assert_eq!((job.status, job.error_code.as_deref()), (Status::Failed, Some(code)));
        }
    }

    async fn a_hosted_job_of_a_server_that_is_gone_is_interrupted(db: Db) {
        let gone = House::new(&db).await;
        let hosted = begin(&gone).await;
        let id = hosted.id().to_owned();
        gone.advance(Duration::from_secs(31));
        gone.beside().jobs.recover().await.unwrap();
        let job = gone.job(&id).await;
        assert_eq!((job.status, job.error_code.as_deref()), (Status::Failed, Some("interrupted")));
        // Should it come back, it hears of it.
        gone.jobs.tend().await;
        assert!(hosted.cancellation().is_cancelled());
        hosted.end(None, Ok(Done::nothing()));
        gone.settled().await;
        assert_eq!(gone.job(&id).await.status, Status::Failed);
    }
}
