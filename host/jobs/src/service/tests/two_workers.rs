//! Two workers, one database, many tiny jobs: each is done once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use qm_db::{Backend, Db, db_test};
use tokio::sync::watch;

use super::*;
use crate::model::status::Status;
use crate::testing::{Runs, counting};

/// Counts its runs, none of which goes on before both workers have begun one: else one of them may do all of it before
/// the other looks.
struct OnceBothWork {
    count: Arc<dyn JobHandler>,
    has_begun: AtomicBool,
    begun: watch::Sender<usize>,
}

#[async_trait]
impl JobHandler for OnceBothWork {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        if !self.has_begun.swap(true, Ordering::SeqCst) {
            self.begun.send_modify(|begun| *begun += 1);
        }
        let _ = self.begun.subscribe().wait_for(|begun| *begun == 2).await;
        self.count.run(job).await
    }
}

db_test! {
    async fn two_workers_do_each_of_many_jobs_once(db: Db) {
        // PostgreSQL waits for its disk once a transaction, in a test as anywhere; `bench` runs them all there too.
        let count = if db.backend() == Backend::Sqlite { 10_000 } else { 2000 };
        let house = House::new(&db).await;
        let wide = Pace { places: Some(64), ..pace() };
        let (one, other) = (house.at_pace(wide.clone()), house.at_pace(wide));
        let runs = Runs::default();
        let begun = watch::Sender::new(0);
        for worker in [&one, &other] {
            worker.jobs.register(JobType {
                handler: Arc::new(OnceBothWork {
                    count: counting("test.count", &runs).handler,
                    has_begun: AtomicBool::new(false),
                    begun: begun.clone(),
                }),
                ..counting("test.count", &runs)
            });
        }
        let mut tx = db.begin_write().await.unwrap();
        for _ in 0..count {
            let _ = one.jobs.enqueue(&mut tx, NewJob::new("test.count", json!({}))).await.unwrap();
        }
        tx.commit().await.unwrap();
        one.jobs.start().await.unwrap();
        other.jobs.start().await.unwrap();
        // How long all of them take is the disk's affair; that one ends now and then is ours.
        let at_work = || one.jobs.0.running_jobs.len() + other.jobs.0.running_jobs.len();
        let (mut done, mut since) = (0, Instant::now());
        while done < count || at_work() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let now = runs.lock().unwrap().len();
            if now > done {
                (done, since) = (now, Instant::now());
            }
            assert!(since.elapsed() < Duration::from_mins(1), "stuck: {done} of {count} done, {} at work", at_work());
        }
        for worker in [&one, &other] {
            worker.jobs.shutdown().await;
            worker.background.shutdown().await;
        }
        let runs = runs.lock().unwrap().clone();
        assert_eq!(runs.len(), count);
        assert!(runs.values().all(|times| *times == 1), "each once");
        let mut workers = HashMap::<String, usize>::new();
        for job in house.items().await {
            assert_eq!((job.status, job.attempt), (Status::Completed, 1));
            *workers.entry(job.worker_id.unwrap()).or_default() += 1;
        }
        let shares = [&one, &other].map(|worker| {
            worker.jobs.0.tally.ended.with_label_values(&["completed"]).get()
        });
        assert!(shares.iter().all(|share| *share > 0), "both have worked: {shares:?}");
        assert_eq!(shares.iter().sum::<u64>(), count as u64);
    }
}
