//! Tests of background loops, schedules and retention.

use std::time::Duration;

use qm_db::{Db, db_test};

use super::*;
use crate::model::cron::Cron;
use crate::model::schedule::{RETENTION_CLEANUP, STALL_DETECTOR, Trigger};
use crate::model::status::Status;
use crate::service::retention;

const DAY: Duration = Duration::from_hours(24);

db_test! {
    async fn a_job_without_a_sign_of_life_is_told_of_once(db: Db) {
        let house = House::new(&db).await;
        let (silent, lively) = (house.submit("wait").await, house.submit("wait").await);
        house.jobs.dispatch().await.unwrap();
        house.advance(Duration::from_mins(4));
        let hand = house.jobs.0.running_jobs.get(&lively).unwrap();
        let mut tx = db.begin_write().await.unwrap();
        let now = house.jobs.0.ctx.now();
        assert!(repo::moves::beat(&mut tx, &hand.lease, None, now).await.unwrap());
        tx.commit().await.unwrap();
        house.advance(Duration::from_secs(61));
        for _ in 0..2 {
            house.jobs.tell_stalled().await.unwrap();
        }
        assert_eq!(house.event_types(&silent).await, ["created", "queued", "started", "stalled"]);
        let event = &house.events(&silent).await[3];
        let started = Timestamp::from_ms(START_MS);
        assert_eq!(event.metadata, Some(json!({ "idleMs": 301_000, "since": started })));
        assert_eq!(event.level, "warning");
        assert_eq!(house.event_types(&lively).await.len(), 3, "it gave a sign of life");
        assert_eq!(house.status(&silent).await, "running", "it is only told of");
        house.stage.go.notify_one();
        until("one of them to end", || house.jobs.0.running_jobs.len() < 2).await;
        house.stage.go.notify_one();
        house.settled().await;
    }

    async fn old_jobs_are_removed_by_how_they_ended(db: Db) {
        let house = House::new(&db).await;
        let admin = caller(Role::SuperAdmin, "u");
        let (well, failed) = (house.submit("complete").await, house.submit("fail").await);
        let parent = house.submit("child").await;
        let cancelled = house.submit("complete").await;
        house.jobs.act(&admin, crate::service::actions::Verb::Cancel, &cancelled).await.unwrap();
        house.run_all().await;
        let child = house.all().await.into_iter().find(|job| job.parent_job_id.as_deref() == Some(&parent)).expect("a child").id;
        house.advance(7 * DAY);
        let cleanup = || NewJob::new(retention::TYPE, json!({}));
        house.jobs.submit(cleanup()).await.unwrap();
        house.run_all().await;
        assert_eq!(house.all().await.len(), 6, "nothing is older than seven days yet");
        house.advance(Duration::from_millis(1));
        let id = house.jobs.submit(cleanup()).await.unwrap();
        house.run_all().await;
        assert_eq!(house.job(&id).await.result_summary, Some(json!({ "removed": 4, "finished": 4, "failed": 0 })));
        let left: Vec<String> = house.all().await.into_iter().map(|job| job.id).collect();
        for gone in [&well, &parent, &cancelled, &child] {
            assert!(!left.contains(gone));
        }
        assert!(left.contains(&failed));
        assert_eq!(house.events(&well).await, [], "its events went with it");
        house.advance(24 * DAY);
        house.jobs.submit(cleanup()).await.unwrap();
        house.run_all().await;
        assert!(!house.all().await.iter().any(|job| job.id == failed));
    }

    async fn many_old_jobs_are_removed_bit_by_bit(db: Db) {
        let house = House::new(&db).await;
        let mut tx = db.begin_write().await.unwrap();
        for _ in 0..1100 {
            let _ = house.jobs.enqueue(&mut tx, work(&["complete"])).await.unwrap();
        }
        tx.commit().await.unwrap();
        let admin = caller(Role::SuperAdmin, "u");
        for job in house.all().await {
            house.jobs.act(&admin, crate::service::actions::Verb::Cancel, &job.id).await.unwrap();
        }
        house.advance(8 * DAY);
        let id = house.jobs.submit(NewJob::new(retention::TYPE, json!({}))).await.unwrap();
        house.run_all().await;
        assert_eq!(house.all().await.len(), 1);
        assert_eq!(house.job(&id).await.result_summary.unwrap()["removed"], 1100);
    }

    async fn a_child_outlives_its_parent_without_the_link(db: Db) {
        let house = House::new(&db).await;
        let parent = house.submit("child").await;
        house.run_all().await;
        let child = house.all().await.into_iter().find(|job| job.id != parent).expect("a child").id;
        let mut tx = db.begin_write().await.unwrap();
        let before = Timestamp::from_ms(START_MS + 1);
        assert_eq!(repo::retention::remove_finished(&mut tx, before, 1).await.unwrap(), 1);
        tx.commit().await.unwrap();
        let left = house.all().await;
        assert_eq!(left.len(), 1);
        if left[0].id == child {
            assert_eq!(left[0].parent_job_id, None);
        }
    }

    async fn a_schedule_asks_once_an_interval_and_a_restart_forgets_nothing(db: Db) {
        let house = House::new(&db).await;
        let make = || work(&["complete"]);
        let ask = async |house: &House| house.jobs.ask_when_due("test_schedule", &Trigger::Every(DAY), &make).await.unwrap();
        assert_eq!(ask(&house).await, DAY, "the first time is an interval after the start");
        house.advance(DAY / 2);
        assert_eq!(ask(&house).await, DAY / 2);
        house.advance(DAY / 2);
        assert_eq!(ask(&house).await, DAY);
        let asked = house.all().await;
        assert_eq!((asked.len(), asked[0].schedule_id.as_deref(), asked[0].source.as_str()), (1, Some("test_schedule"), "scheduled"));
        house.run_all().await;
        // A worker that starts later counts from the last time, and two of them ask once.
        house.advance(Duration::from_mins(24 * 60 - 1));
        let (one, other) = (house.beside(), house.beside());
        assert_eq!(ask(&one).await, Duration::from_mins(1));
        house.advance(Duration::from_mins(1));
        ask(&one).await;
        ask(&other).await;
        assert_eq!(house.all().await.len(), 2);
    }

    async fn a_server_that_never_runs_for_a_whole_interval_asks_all_the_same(db: Db) {
        let first = House::new(&db).await;
        let make = || work(&["complete"]);
        let mut asked = Vec::new();
        // Started anew each morning, it looks twice a day.
        for day in 0..30 {
            let house = first.beside();
            for _ in 0..2 {
                house.jobs.ask_when_due("test_weekly", &Trigger::Every(7 * DAY), &make).await.unwrap();
                house.advance(Duration::from_hours(5));
            }
            house.run_all().await;
            asked.extend(house.all().await.iter().map(|_| day));
            // What it asked for is removed long before it is due again.
            let mut tx = db.begin_write().await.unwrap();
            let now = house.jobs.0.ctx.now().plus(Duration::from_millis(1));
            repo::retention::remove_finished(&mut tx, now, 10).await.unwrap();
            tx.commit().await.unwrap();
            house.advance(Duration::from_hours(14));
        }
        assert_eq!(asked, [7, 14, 21, 28]);
    }

    async fn a_schedule_by_the_clock_follows_the_zone_that_is_set(db: Db) {
        let house = House::new(&db).await;
        let mut tx = db.begin_write().await.unwrap();
        let zone = Some("Asia/Kolkata".to_owned());
        house.jobs.0.settings.put(&mut tx, &qm_platform::settings::TIMEZONE, &zone).await.unwrap();
        tx.commit().await.unwrap();
        // It is 14:45 there; at 04:30 there it is 23:00 here.
        let trigger = Trigger::Cron(Cron::parse("30 4 * * *").unwrap());
        let make = || work(&["complete"]);
        let ask = async || house.jobs.ask_when_due("test_clock", &trigger, &make).await.unwrap();
        assert_eq!(Timestamp::from_ms(START_MS).to_string(), "2031-03-30T09:15:00.000Z");
        let wait = Duration::from_mins(13 * 60 + 45);
        assert_eq!(ask().await, wait);
        house.advance(wait);
        assert_eq!(ask().await, DAY);
        assert_eq!(house.all().await.len(), 1);
        house.jobs.schedule("test_clock", trigger.clone(), make);
        let listed = house.jobs.schedules();
        assert!(listed.iter().any(|schedule| schedule.name == "test_clock" && schedule.trigger == trigger));
        house.background.shutdown().await;
    }

    async fn every_loop_is_listed(db: Db) {
        let house = House::new(&db).await;
        house.background.for_module("torrents").list("torrent_sync", Duration::from_secs(2));
        house.jobs.start().await.unwrap();
        let listed = house.jobs.schedules();
        let find = |name: &str| listed.iter().find(|schedule| schedule.name == name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!((find(STALL_DETECTOR).module, &find(STALL_DETECTOR).trigger), ("jobs_center", &Trigger::Every(Duration::from_secs(30))));
        assert_eq!((find(RETENTION_CLEANUP).module, &find(RETENTION_CLEANUP).trigger), ("system", &Trigger::Every(DAY)));
        assert_eq!(find("torrent_sync").module, "torrents");
        assert!(listed.is_sorted_by_key(|schedule| schedule.name));
        // The loops do what the tests above do by hand.
        let id = house.submit("complete").await;
        let mut status = String::new();
        for _ in 0..30_000 {
            status = house.status(&id).await;
            if status == "completed" {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert_eq!(status, "completed");
        house.jobs.shutdown().await;
        house.background.shutdown().await;
    }

    async fn the_overview_counts_today(db: Db) {
        let house = House::new(&db).await;
        let admin = caller(Role::SuperAdmin, "u");
        for word in ["complete", "warn", "fail"] {
            house.submit(word).await;
        }
        house.run_all().await;
        let cancelled = house.submit("complete").await;
        house.jobs.act(&admin, crate::service::actions::Verb::Cancel, &cancelled).await.unwrap();
        let overview = house.jobs.overview(&admin.principal).await.unwrap();
        assert_eq!((overview.completed_today, overview.failed_today, overview.cancelled_today), (2, 1, 1));
        assert_eq!((overview.success_rate(), overview.active()), (Some(67), 0));
        assert_eq!(overview.by_status.len(), Status::ALL.len());
        house.advance(2 * DAY);
        let overview = house.jobs.overview(&admin.principal).await.unwrap();
        assert_eq!((overview.completed_today, overview.success_rate()), (0, None));
        assert_eq!(overview.count(Status::Completed), 1);
    }
}
