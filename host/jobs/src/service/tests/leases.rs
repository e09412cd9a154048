//! Tests of two workers on one database, and of workers that are gone.

use std::time::Duration;

use qm_db::{Backend, Db, db_test};

use super::*;
use crate::model::status::Status;
use crate::service::settle::{Ended, Outcome};

/// Jobs that a vanished worker has claimed and nobody runs.
async fn left_in_hand(house: &House, words: &[&str], attempts: u32) -> Vec<String> {
    let mut ids = Vec::new();
    for word in words {
        let new = NewJob {
            max_attempts: Some(attempts),
            ..work(&[word])
        };
        ids.push(house.jobs.submit(new).await.unwrap());
    }
    let claimed = house.claim().await;
    assert_eq!(claimed.len(), words.len());
    ids
}

db_test! {
    async fn a_job_whose_worker_is_gone_is_interrupted_once_its_lease_has_ended(db: Db) {
        let gone = House::new(&db).await;
        let ids = left_in_hand(&gone, &["complete"], 1).await;
        let other = gone.beside();
        other.advance(Duration::from_secs(29));
        other.jobs.reap().await.unwrap();
        assert_eq!(other.status(&ids[0]).await, "running", "its lease is still good");
        other.advance(Duration::from_secs(2));
        other.jobs.reap().await.unwrap();
        let job = other.job(&ids[0]).await;
        assert_eq!((job.status, job.error_code.as_deref()), (Status::Failed, Some("interrupted")));
        assert_eq!(job.lease_owner, None);
        assert_eq!(other.event_types(&ids[0]).await, ["created", "queued", "started", "failed"]);
    }

    async fn an_interrupted_job_is_tried_again_where_it_may(db: Db) {
        let gone = House::new(&db).await;
        let ids = left_in_hand(&gone, &["complete"], 2).await;
        let other = gone.beside();
        other.advance(Duration::from_secs(31));
        other.jobs.reap().await.unwrap();
        let job = other.job(&ids[0]).await;
        assert_eq!((job.status, job.attempt), (Status::Queued, 2));
        other.advance(Duration::from_secs(1));
        other.run_all().await;
        assert_eq!(other.status(&ids[0]).await, "completed");
    }

    async fn a_cancelled_job_whose_worker_is_gone_is_cancelled(db: Db) {
        let gone = House::new(&db).await;
        let ids = left_in_hand(&gone, &["complete"], 3).await;
        let admin = caller(Role::SuperAdmin, "u");
        gone.jobs.act(&admin, crate::service::actions::Verb::Cancel, &ids[0]).await.unwrap();
        assert_eq!(gone.status(&ids[0]).await, "cancelling");
        let other = gone.beside();
        other.advance(Duration::from_secs(31));
        other.jobs.reap().await.unwrap();
        let job = other.job(&ids[0]).await;
        assert_eq!((job.status, job.error_code.as_deref()), (Status::Cancelled, Some("interrupted")));
    }

    async fn a_worker_that_wakes_up_writes_nothing_of_what_was_taken_from_it(db: Db) {
        let slow = House::new(&db).await;
        let id = slow.jobs.submit(NewJob { max_attempts: Some(2), ..work(&["wait", "complete"]) }).await.unwrap();
        slow.jobs.dispatch().await.unwrap();
        slow.heard("job:wait").await;
        let hand = slow.jobs.0.running_jobs.get(&id).expect("it is in hand");
        // It sleeps for longer than its lease; another one takes over and finishes the job.
        slow.advance(Duration::from_mins(1));
        let other = slow.beside();
        other.jobs.reap().await.unwrap();
        other.advance(Duration::from_secs(1));
        other.run_all().await;
        let done = other.job(&id).await;
        assert_eq!((done.status, done.attempt), (Status::Completed, 2));
        // Whatever it tries now finds no row.
        let ended = Ended { lease: hand.lease.clone(), outcome: Outcome::Done(Done::result(json!("stale"))), unstored: None };
        let mut tx = db.begin_write().await.unwrap();
        assert_eq!(slow.jobs.write_one(&mut tx, &ended, &mut Vec::new()).await.unwrap(), None);
        tx.commit().await.unwrap();
        slow.jobs.tend().await;
        slow.settled().await;
        assert!(hand.lost.is_cancelled() && hand.cancelled.is_cancelled());
        assert_eq!(slow.job(&id).await, done, "nothing of it has changed");
        assert_eq!(slow.event_types(&id).await.iter().filter(|kind| *kind == "completed").count(), 1);
    }

    async fn a_worker_that_lives_keeps_its_jobs(db: Db) {
        let house = House::new(&db).await;
        let id = house.submit("wait").await;
        house.jobs.dispatch().await.unwrap();
        let other = house.beside();
        for _ in 0..10 {
            house.advance(Duration::from_secs(20));
            house.jobs.tend().await;
            other.jobs.tend().await;
        }
        assert_eq!(house.status(&id).await, "running");
        house.heard("job:wait").await;
        house.stage.go.notify_one();
        house.settled().await;
        assert_eq!(house.status(&id).await, "completed");
    }

    async fn what_a_worker_took_without_hearing_of_it_comes_back(db: Db) {
        let house = House::new(&db).await;
        let ids = left_in_hand(&house, &["complete"], 2).await;
        // It has another one in hand, whose lease it goes on prolonging.
        let busy = house.submit("wait").await;
        house.jobs.dispatch().await.unwrap();
        house.heard("job:wait").await;
        for _ in 0..4 {
            house.advance(Duration::from_secs(10));
            house.jobs.tend().await;
        }
        assert_eq!((house.job(&ids[0]).await.attempt, house.status(&busy).await.as_str()), (2, "running"));
        house.stage.go.notify_one();
        house.settled().await;
        house.advance(Duration::from_secs(1));
        house.run_all().await;
        assert_eq!(house.status(&ids[0]).await, "completed");
    }

    async fn what_others_decide_reaches_the_worker(db: Db) {
        let house = House::new(&db).await;
        let (cancelled, paused) = (house.submit("obey").await, house.submit("pause").await);
        house.jobs.dispatch().await.unwrap();
        let other = house.beside();
        let admin = caller(Role::SuperAdmin, "u");
        for (verb, id) in [
            (crate::service::actions::Verb::Cancel, &cancelled), (crate::service::actions::Verb::Pause, &paused),
        ] {
            assert!(other.jobs.act(&admin, verb, id).await.unwrap().ok);
        }
        house.jobs.tend().await;
        house.settled().await;
        assert_eq!(house.status(&cancelled).await, "cancelled");
        assert_eq!(house.status(&paused).await, "paused");
    }

    async fn a_start_settles_what_the_last_run_left(db: Db) {
        let gone = House::new(&db).await;
        let ids = left_in_hand(&gone, &["complete", "complete"], 1).await;
        let queued = gone.submit("complete").await;
        gone.jobs.register(type_of("test.gone", Arc::new(Script(gone.stage.clone()))));
        let unknown = gone.jobs.submit(NewJob::new("test.gone", json!({}))).await.unwrap();
        // On PostgreSQL another node may live, so the lease has to end, and what it may know waits for an hour.
        if db.backend() == Backend::Postgres {
            gone.advance(Duration::from_hours(1));
        }
        let next = gone.beside();
        next.jobs.recover().await.unwrap();
        for id in &ids {
            let job = next.job(id).await;
            assert_eq!((job.status, job.error_code.as_deref()), (Status::Failed, Some("interrupted")));
        }
        let job = next.job(&unknown).await;
        assert_eq!((job.status, job.error_code.as_deref()), (Status::Failed, Some("interrupted")));
        assert!(job.error_message.unwrap().contains("`test.gone`"));
        next.run_all().await;
        assert_eq!(next.status(&queued).await, "completed", "what was queued runs again");
    }

    async fn a_stopping_worker_ends_what_ends_and_interrupts_the_rest(db: Db) {
        let first = House::new(&db).await;
        let house = first.at_pace(Pace { drain: Duration::from_millis(300), ..pace() });
        let obedient = house.jobs.submit(NewJob { max_attempts: Some(2), ..work(&["obey"]) }).await.unwrap();
        let stubborn = house.submit("hang").await;
        let finishing = house.submit("wait").await;
        house.jobs.dispatch().await.unwrap();
        house.heard("job:wait").await;
        house.stage.go.notify_one();
        let waiting = house.submit("complete").await;
        house.jobs.shutdown().await;
        assert!(house.jobs.worker().is_draining);
        house.jobs.dispatch().await.unwrap();
        assert_eq!(house.status(&finishing).await, "completed");
        assert_eq!(house.status(&obedient).await, "queued", "it may try again");
        let job = house.job(&stubborn).await;
        assert_eq!((job.status, job.error_code.as_deref()), (Status::Failed, Some("interrupted")));
        assert_eq!(house.status(&waiting).await, "queued", "a stopping worker takes nothing");
    }
}
