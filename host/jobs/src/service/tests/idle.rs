//! Tests of when the worker searches for jobs, and when it does not.

use qm_db::{Backend, Db, db_test};

use super::*;
use crate::error::JobsError;
use crate::model::status::Status;
use crate::service::actions::Verb;

sql! {
    TOUCH = "UPDATE platform_jobs SET updated_at = updated_at WHERE id = $1";
}

/// Short intervals: a worker that would search very often if it polled.
fn quick() -> Pace {
    Pace {
        poll: Duration::from_millis(5),
        idle_poll: Duration::from_hours(24),
        lease: Duration::from_millis(30),
        stall_scan: Duration::from_millis(5),
        ..pace()
    }
}

async fn until_status(house: &House, id: &str, wanted: &str) {
    let waiting = async {
        while house.status(id).await != wanted {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), waiting)
        .await
        .unwrap_or_else(|_| panic!("waited in vain for the job to be {wanted}"));
}

db_test! {
    async fn an_idle_worker_asks_nothing_where_it_hears_of_everything(db: Db) {
        let house = House::new(&db).await.at_pace(quick());
        house.jobs.start().await.unwrap();
        let looks = &house.jobs.0.tally.looks;
        let pause = Duration::from_millis(400);
        let is_still = async || {
            let before = looks.get();
            tokio::time::sleep(pause).await;
            looks.get() == before
        };
        if db.backend() == Backend::Sqlite {
            let stillness = async { while !is_still().await {} };
            tokio::time::timeout(Duration::from_mins(1), stillness).await.expect("an idle worker does not look");
            assert!(is_still().await, "looks of an idle worker");
        } else {
            let before = looks.get();
            let looking = async {
                while looks.get() < before + 10 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::time::timeout(Duration::from_mins(1), looking).await.expect("another server may have queued something");
        }
        // A commit is heard of, also when nobody announces it.
        let mut tx = db.begin_write().await.unwrap();
        let quiet = house.jobs.enqueue(&mut tx, work(&["complete"])).await.unwrap();
        tx.commit().await.unwrap();
        until_status(&house, quiet.id(), "completed").await;
        // So is the time when another attempt is due.
        let again = house.jobs.submit(NewJob { max_attempts: Some(2), ..work(&["fail", "complete"]) }).await.unwrap();
        house.heard("job:fail").await;
        house.settled().await;
        assert_eq!((house.job(&again).await.attempt, house.status(&again).await.as_str()), (2, "queued"));
        house.advance(Duration::from_secs(1));
        until_status(&house, &again, "completed").await;
        // And what people do.
        let obedient = house.submit("obey").await;
        house.heard("job:obey").await;
        let admin = caller(Role::SuperAdmin, "u");
        assert!(house.jobs.act(&admin, Verb::Cancel, &obedient).await.unwrap().ok);
        until_status(&house, &obedient, "cancelled").await;
        assert!(house.jobs.act(&admin, Verb::Rerun, quiet.id()).await.unwrap().ok);
        house.settled().await;
        house.jobs.shutdown().await;
        house.background.shutdown().await;
    }

    async fn what_is_being_taken_when_the_worker_stops_is_taken_by_nobody(db: Db) {
        let house = House::new(&db).await;
        let id = house.submit("complete").await;
        // Somebody writes, and the worker has to wait for it.
        let mut tx = db.begin_write().await.unwrap();
        qm_db::exec!(&mut tx, TOUCH, &id).await.unwrap().exactly(1).unwrap();
        let jobs = house.jobs.clone();
        let taking = tokio::spawn(async move { jobs.dispatch().await.map(drop) });
        tokio::time::sleep(Duration::from_millis(200)).await;
        let jobs = house.jobs.clone();
        let stopping = tokio::spawn(async move { jobs.shutdown().await });
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!stopping.is_finished(), "who stops waits for what is being taken");
        tx.commit().await.unwrap();
        taking.await.unwrap().unwrap();
        stopping.await.unwrap();
        let job = house.job(&id).await;
        assert_eq!((job.status, job.claim, job.lease_owner), (Status::Queued, 0, None));
    }

    async fn a_key_that_two_ask_for_at_once_is_one_jobs(db: Db) {
        let house = House::new(&db).await;
        let admin = caller(Role::SuperAdmin, "u");
        let new = || NewJob { idempotency_key: Some("k".into()), ..work(&["fail"]) };
        let failed = house.jobs.submit(new()).await.unwrap();
        house.run_all().await;
        // While the one of the key is asked for again, somebody is making another one of it.
        let mut tx = db.begin_write().await.unwrap();
        let other = house.jobs.enqueue(&mut tx, new()).await.unwrap();
        let (jobs, id) = (house.jobs.clone(), failed.clone());
        let asked = admin.clone();
        let retrying = tokio::spawn(async move { jobs.act(&asked, Verb::Retry, &id).await });
        tokio::time::sleep(Duration::from_millis(200)).await;
        tx.commit().await.unwrap();
        let acted = retrying.await.unwrap().unwrap();
        assert_eq!((acted.ok, acted.reason), (false, Some("already_active")));
        house.run_all().await;
        assert_eq!((house.status(&failed).await.as_str(), house.status(other.id()).await.as_str()), ("failed", "failed"));
        // The other way about: whoever asks for the key gets the one that is being tried again.
        let mut tx = db.begin_write().await.unwrap();
        let mut job = repo::jobs::find(&mut tx, &failed).await.unwrap().unwrap();
        let event = crate::model::event::NewEvent::info(crate::model::event::EventType::RetryScheduled);
        house.jobs.again(&mut tx, &mut job, event, None, &mut Vec::new()).await.unwrap();
        let jobs = house.jobs.clone();
        let asking = tokio::spawn(async move { jobs.submit(new()).await });
        tokio::time::sleep(Duration::from_millis(200)).await;
        tx.commit().await.unwrap();
        assert_eq!(asking.await.unwrap().unwrap(), failed);
    }

    async fn many_are_answered_for_when_the_database_is_away(db: Db) {
        let house = House::new(&db).await;
        let ids: Vec<String> = vec![house.submit("complete").await, house.submit("complete").await, "a\0b".into()];
        db.close().await;
        let admin = caller(Role::SuperAdmin, "u");
        let refused = house.jobs.act(&admin, Verb::Cancel, &ids[0]).await.unwrap_err();
        assert!(refused.is_passing() && matches!(refused, JobsError::Database(_)), "{refused}");
        let outcome = house.jobs.act_on_many(&admin, Verb::Cancel, "jobs.bulk_cancel", ids.clone()).await;
        let failed: Vec<(&str, &str)> = outcome.failed.iter().map(|(id, reason)| (id.as_str(), *reason)).collect();
        assert_eq!(failed, [(ids[0].as_str(), "failed"), (ids[1].as_str(), "failed"), ("a\0b", "not_found")]);
        assert!(outcome.succeeded.is_empty());
    }
}
