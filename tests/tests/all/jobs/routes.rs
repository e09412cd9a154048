//! The routes of the jobs through the whole server: shapes, filters, roles, actions with their audit rows, schedules, and
//! what is told over the realtime channel.

use std::collections::BTreeSet;

use qm_jobs::testing::scripted;
use qm_jobs::{NewJob, Source, Visibility};
use qm_kernel::{Permission, Role};
use qm_test_base::engine::FakeKinds;
use qm_testkit::wait::until;
use qm_testkit::ws::Ws;
use qm_testkit::{Api, TestDb, TestServer, both_databases};
use serde_json::{Value, json};

/// A type that everybody who may see jobs may see, and one for those who look after the jobs.
const OPEN: &str = "test.open";
const GUARDED: &str = "test.guarded";

const ITEM: &str = "attempt capabilities completedAt createdById id maxAttempts moduleKey name phase priority \
    progressPercent queuedAt resourceId resourceType source startedAt status type workerId workspaceKey";
const DETAIL: &str = "cancelledAt correlationId createdAt description errorCode errorMessage failedAt heartbeatAt \
    inputSummary libraryId mediaItemId metadata metrics parentJobId pausedAt progressCurrent progressTotal progressUnit \
    requiredPermission resultSummary retryAt rootJobId scheduleId scheduledFor statusMessageKey statusMessageParams \
    timeoutSeconds updatedAt visibilityScope warnings";
const EVENT: &str =
    "createdAt eventType id jobId level messageKey messageParams metadata progress sanitizedMessage sequence";
const OVERVIEW: &str = "active blocked byStatus cancelledToday completedToday failed failedToday queued running scheduled \
    successRate waiting";
const SUMMARY: &str = "createdAt error id label progress status subsystem type updatedAt";
const SCHEDULE: &str = "cron enabled intervalMs module name triggerType";
const WORKER: &str = "capacity host id inProcess runningJobs startedAt status supportedQueues version";

async fn start(db: &TestDb) -> TestServer {
    let server = TestServer::builder(db)
        .kinds(FakeKinds::first_party())
        .start()
        .await;
    server.jobs().register(scripted(OPEN, None));
    server
        .jobs()
        .register(scripted(GUARDED, Some(Permission::JobsAdmin)));
    server
}

async fn submit(server: &TestServer, job: NewJob) -> String {
    server.jobs().submit(job).await.expect("the job is taken")
}

fn doing(type_key: &'static str, word: &str) -> NewJob {
    NewJob::new(type_key, json!({ "do": word, "secretPhrase": "open sesame" }))
}

/// The job, once it is in one of these states.
async fn once(api: &Api, id: &str, statuses: &[&str]) -> Value {
    until(&format!("job {id} to be {statuses:?}"), || async {
        let job = api.get(&format!("/api/jobs/{id}")).await;
        statuses
            .iter()
            .any(|status| job["status"] == *status)
            .then_some(job)
    })
    .await
}

fn keys(value: &Value) -> BTreeSet<&str> {
    let members = value.as_object().unwrap_or_else(|| panic!("an object: {value}"));
    members.keys().map(String::as_str).collect()
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

/// The status and the message of an error; the message is one sentence, or a list of them joined.
async fn refusal(api: &Api, method: &str, path: &str, body: Option<&Value>) -> (u16, String) {
    let reply = api.send(method, path, body).await;
    let message = reply.json()["message"].clone();
    let text = match &message {
        Value::Array(messages) => messages
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join("; "),
        one => one.as_str().unwrap_or_default().to_owned(),
    };
    (reply.status, text)
}

/// The next message of an event; others are passed over.
async fn next_message(socket: &mut Ws, event: &str) -> Value {
    socket
        .until(event, |name, data| (name == event).then(|| data.clone()))
        .await
}

both_databases! {
    async fn every_answer_has_its_agreed_shape(db: &TestDb) {
        let server = start(db).await;
        let admin = server.admin();
        let new = NewJob {
            name: Some("A name".into()), source: Source::Automation, correlation_id: Some("corr".into()),
            input_summary: Some(json!({ "path": "/x", "apiKey": "k" })), priority: 7, ..doing(OPEN, "warn")
        };
        let id = submit(&server, new).await;
        let job = once(&admin, &id, &["completed_with_warnings"]).await;
        assert_eq!(keys(&job), &words(ITEM) | &words(DETAIL));
        assert_eq!(job["capabilities"], json!({ "cancellable": true, "pausable": true, "resumable": true, "retryable": true }));
        assert_eq!((&job["moduleKey"], &job["workspaceKey"], &job["visibilityScope"]), (&json!("torrents"), &json!("engines"), &json!("module")));
        assert_eq!((&job["progressPercent"], &job["attempt"], &job["maxAttempts"], &job["priority"]), (&json!(100), &json!(1), &json!(1), &json!(7)));
        assert_eq!((&job["source"], &job["rootJobId"], &job["parentJobId"]), (&json!("automation"), &json!(id), &json!(null)));
        assert_eq!(job["inputSummary"], json!({ "path": "/x", "apiKey": "[redacted]" }));
        assert_eq!(job["resultSummary"], json!({ "done": true, "sessionId": "[redacted]" }));
        assert_eq!(job["warnings"][0]["message"], "a disk is nearly full, password=[redacted]");
        assert_eq!(job["metrics"], json!({ "rows": 1 }));

        let list = admin.get("/api/jobs/list").await;
        assert_eq!(keys(&list), words("items page pageSize total"));
        assert_eq!((keys(&list["items"][0]), &list["pageSize"]), (words(ITEM), &json!(25)));
        let events = admin.get(&format!("/api/jobs/{id}/events")).await;
        assert_eq!((keys(&events["items"][0]), &events["total"], &events["pageSize"]), (words(EVENT), &json!(6), &json!(50)));
        let told: Vec<_> = events["items"].as_array().expect("a list").iter().map(|event| event["eventType"].as_str().expect("a word")).collect();
        assert_eq!(told, ["created", "queued", "started", "warning", "output_available", "completed"]);
        let warnings = admin.get(&format!("/api/jobs/{id}/events?level=warning&pageSize=1")).await;
        assert_eq!((&warnings["total"], &warnings["items"][0]["eventType"]), (&json!(2), &json!("warning")));
        assert_eq!(warnings["items"].as_array().map(Vec::len), Some(1));

        let parent = submit(&server, doing(OPEN, "child")).await;
        once(&admin, &parent, &["completed"]).await;
        let children = admin.get(&format!("/api/jobs/{parent}/children")).await;
        assert_eq!((keys(&children[0]), children.as_array().map(Vec::len)), (words(ITEM), Some(1)));
        let child = children[0]["id"].as_str().expect("an id");
        assert_eq!(admin.get(&format!("/api/jobs/{child}")).await["parentJobId"], json!(parent));

        let overview = admin.get("/api/jobs/overview").await;
        assert_eq!(keys(&overview), words(OVERVIEW));
        assert_eq!((&overview["byStatus"]["completed_with_warnings"], &overview["failed"]), (&json!(1), &json!(0)));
        assert_eq!(overview["successRate"], json!(100));
        let catalog = admin.get("/api/jobs/catalog").await;
        let cleanup = catalog.as_array().expect("a list").iter().find(|entry| entry["type"] == "jobs.retention_cleanup");
        assert_eq!(cleanup.expect("the type"), &json!({
            "type": "jobs.retention_cleanup", "moduleKey": "jobs_center", "workspaceKey": "system",
            "labelKey": "jobs.type.retention_cleanup", "descriptionKey": "jobs.type.retention_cleanup.description",
            "requiredPermission": "jobs.admin",
            "capabilities": { "cancellable": false, "pausable": false, "resumable": false, "retryable": false },
        }));
        let workers = admin.get("/api/jobs/workers").await;
        assert_eq!((keys(&workers[0]), workers.as_array().map(Vec::len)), (words(WORKER), Some(1)));
        assert_eq!(workers[0]["id"], json!(format!("{}:{}", workers[0]["host"].as_str().expect("a name"), std::process::id())));
        assert_eq!((&workers[0]["status"], &workers[0]["inProcess"], &workers[0]["capacity"]), (&json!("online"), &json!(true), &json!(null)));
        assert_eq!(workers[0]["supportedQueues"], json!(["default"]));
        assert_eq!(admin.get("/api/jobs/settings").await, json!({
            "progressThrottleMs": 1000, "stallThresholdMs": 300_000, "stallScanIntervalMs": 30_000,
            "defaultMaxAttempts": 1, "editable": false,
        }));
        for path in ["/api/jobs/list", &format!("/api/jobs/{id}"), &format!("/api/jobs/{id}/events"), "/api/jobs"] {
            let text = admin.get(path).await.to_string();
            for hidden in ["open sesame", "hunter2", "secretPhrase"] {
                assert!(!text.contains(hidden), "{path} shows {hidden}");
            }
        }
    }

    async fn the_list_filters_sorts_and_refuses_what_it_does_not_know(db: &TestDb) {
        let server = start(db).await;
        let admin = server.admin();
        let mut ids = Vec::new();
        for (name, priority, word, status) in [
            ("Apple 100%", 1, "complete", "completed"), ("Banana", 3, "obey", "running"), ("Cherry_pie", 2, "fail", "failed"),
        ] {
            let new = NewJob {
                name: Some(name.into()), priority, correlation_id: Some(format!("corr-{priority}")),
                library_id: Some("lib".into()), resource: Some(("torrent".into(), format!("res-{priority}"))),
                created_by: Some(server.user_id(Role::User).to_owned()), ..doing(OPEN, word)
            };
            let id = submit(&server, new).await;
            once(&admin, &id, &[status]).await;
            ids.push(id);
        }
        let user = server.user_id(Role::User).to_owned();
        for (query, expected) in [
            ("status=running".to_owned(), &[1][..]),
            ("active=true".into(), &[1]),
            ("active=false&sort=createdAt&order=asc".into(), &[0, 2]),
            ("active=0&status=failed".into(), &[2]),
            ("moduleKey=torrents&order=asc".into(), &[0, 1, 2]),
            ("moduleKey=rss".into(), &[]),
            ("workspaceKey=engines&type=test.open&sort=priority".into(), &[1, 2, 0]),
            ("source=manual&sort=priority&order=asc".into(), &[0, 2, 1]),
            ("source=event".into(), &[]),
            (format!("createdById={user}&sort=status&order=asc"), &[0, 2, 1]),
            ("correlationId=corr-2".into(), &[2]),
            ("libraryId=lib&sort=completedAt&order=asc".into(), &[0]),
            ("resourceId=res-3".into(), &[1]),
            ("search=aNaN".into(), &[1]),
            ("search=100%25".into(), &[0]),
            ("search=y_p".into(), &[2]),
            ("search=y_x".into(), &[]),
            ("search=TEST.op&sort=queuedAt&order=asc".into(), &[0, 1, 2]),
            ("search=corr-1".into(), &[0]),
            (format!("search={}", ids[1]), &[1]),
            ("search=a%00b".into(), &[]),
            ("pageSize=1&page=2&order=asc".into(), &[1]),
            ("page=9".into(), &[]),
        ] {
            let list = admin.get(&format!("/api/jobs/list?{query}")).await;
            let found: Vec<&str> = list["items"].as_array().expect("a list").iter().map(|job| job["id"].as_str().expect("an id")).collect();
            let mut wanted: Vec<&str> = expected.iter().map(|index| ids[*index].as_str()).collect();
            if query.contains("completedAt") {
                // The first is told; those without an end follow in no order.
                wanted.truncate(1);
                assert_eq!((found[0], found.len()), (wanted[0], 3));
                continue;
            }
            assert_eq!(found, wanted, "{query}");
        }
        for (query, message) in [
            ("page=0", "page must not be less than 1"),
            ("pageSize=201", "pageSize must not be greater than 200"),
            ("pageSize=many", "pageSize must be an integer number"),
            ("status=lost", "status must be one of the following values: scheduled, queued"),
            ("active=perhaps", "active must be a boolean value"),
            ("source=me", "source must be one of the following values: manual, scheduled, event"),
            ("sort=name", "sort must be one of the following values: createdAt, queuedAt"),
            ("order=up", "order must be one of the following values: asc, desc"),
            ("nonsense=1", "property nonsense should not exist"),
        ] {
            let (status, text) = refusal(&admin, "GET", &format!("/api/jobs/list?{query}"), None).await;
            assert!(status == 400 && text.contains(message), "{query}: {status} {text}");
        }
        for (name, most) in [
            ("moduleKey", 64), ("workspaceKey", 64), ("type", 128), ("createdById", 64), ("correlationId", 128),
            ("libraryId", 64), ("resourceId", 64), ("search", 200),
        ] {
            let of = |length: usize| format!("/api/jobs/list?{name}={}", "x".repeat(length));
            assert_eq!(admin.send("GET", &of(most), None).await.status, 200, "{name}");
            let (status, text) = refusal(&admin, "GET", &of(most + 1), None).await;
            assert_eq!((status, text), (400, format!("{name} must be shorter than or equal to {most} characters")));
        }
        let (status, text) = refusal(&admin, "GET", &format!("/api/jobs/{}/events?level=loud", ids[0]), None).await;
        assert!(status == 400 && text.starts_with("level must be one of"), "{text}");
    }

    async fn each_role_sees_and_does_what_it_may(db: &TestDb) {
        let server = start(db).await;
        let admin = server.admin();
        let open = submit(&server, doing(OPEN, "complete")).await;
        let guarded = submit(&server, doing(GUARDED, "complete")).await;
        let own = NewJob {
            visibility: Visibility::Own, created_by: Some(server.user_id(Role::User).to_owned()), ..doing(OPEN, "complete")
        };
        let own = submit(&server, own).await;
        let mine = NewJob { created_by: Some(server.user_id(Role::PowerUser).to_owned()), ..doing(GUARDED, "complete") };
        let mine = submit(&server, mine).await;
        for id in [&open, &guarded, &own, &mine] {
            once(&admin, id, &["completed"]).await;
        }
        let not_found = (404, "Job not found".to_owned());
        for (role, seen) in [
            (Role::SuperAdmin, &[&open, &guarded, &own, &mine][..]),
            (Role::Administrator, &[&open, &guarded, &own, &mine]),
            (Role::PowerUser, &[&open, &mine]),
            (Role::User, &[&open, &own]),
            (Role::ReadOnly, &[&open]),
        ] {
            let api = server.user(role);
            let total = api.get("/api/jobs/list").await["total"].clone();
            assert_eq!(total, json!(seen.len()), "{}", role.name());
            let overview = api.get("/api/jobs/overview").await;
            assert_eq!(overview["byStatus"]["completed"], json!(seen.len()), "{}", role.name());
            for id in [&open, &guarded, &own, &mine] {
                let path = format!("/api/jobs/{id}");
                let events = format!("{path}/events");
                if !seen.contains(&id) {
                    for path in [&path, &events, &format!("{path}/children")] {
                        assert_eq!(refusal(&api, "GET", path, None).await, not_found, "{} {path}", role.name());
                    }
                    continue;
                }
                assert_eq!(api.get(&path).await["id"], json!(id));
                if role == Role::ReadOnly {
                    let wanted = (403, "Missing permission: jobs.view_events".to_owned());
                    assert_eq!(refusal(&api, "GET", &events, None).await, wanted);
                } else {
                    assert_eq!(api.get(&events).await["total"], json!(4));
                }
            }
        }
        // Its maker sees it; to control it takes its own permission too.
        let power = server.user(Role::PowerUser);
        let rerun = |id: &str| format!("/api/jobs/{id}/rerun");
        let wanted = (403, "This job requires jobs.admin".to_owned());
        assert_eq!(refusal(&power, "POST", &rerun(&mine), None).await, wanted);
        assert_eq!(refusal(&power, "POST", &rerun(&guarded), None).await, not_found);
        assert_eq!(power.act(&rerun(&open)).await["ok"], true);
        assert_eq!(server.user(Role::Administrator).act(&rerun(&guarded)).await["ok"], true);
    }

    async fn actions_answer_and_are_audited(db: &TestDb) {
        let server = start(db).await;
        let admin = server.admin();
        let act = async |id: &str, verb: &str| admin.act(&format!("/api/jobs/{id}/{verb}")).await;
        let obedient = submit(&server, doing(OPEN, "obey")).await;
        once(&admin, &obedient, &["running"]).await;
        assert_eq!(act(&obedient, "cancel").await, json!({ "ok": true, "jobId": obedient }));
        let job = once(&admin, &obedient, &["cancelled"]).await;
        assert!(job["cancelledAt"].is_string() && job["completedAt"] == job["cancelledAt"]);
        assert_eq!(act(&obedient, "cancel").await, json!({ "ok": false }));

        let patient = submit(&server, doing(OPEN, "pause")).await;
        once(&admin, &patient, &["running"]).await;
        assert_eq!(act(&patient, "resume").await, json!({ "ok": false, "reason": "not_resumable" }));
        assert_eq!(act(&patient, "pause").await, json!({ "ok": true, "jobId": patient }));
        once(&admin, &patient, &["paused"]).await;
        assert_eq!(act(&patient, "resume").await, json!({ "ok": true, "jobId": patient }));
        once(&admin, &patient, &["completed"]).await;

        let failing = submit(&server, doing(OPEN, "fail")).await;
        let job = once(&admin, &failing, &["failed"]).await;
        assert_eq!((&job["errorCode"], &job["errorMessage"]), (&json!("broken"), &json!("it broke, token=[redacted]")));
        assert_eq!(act(&patient, "retry").await, json!({ "ok": false, "reason": "not_failed" }));
        assert_eq!(act(&failing, "retry").await, json!({ "ok": true, "jobId": failing }));
        let job = once(&admin, &failing, &["completed"]).await;
        assert_eq!((&job["attempt"], &job["errorCode"]), (&json!(2), &json!(null)));
        let again = act(&failing, "rerun").await;
        let new = again["jobId"].as_str().expect("an id").to_owned();
        assert!(again["ok"] == true && new != failing);
        let job = once(&admin, &new, &["failed"]).await;
        assert_eq!(job["metadata"], json!({ "rerunOfJobId": failing }));
        assert_eq!(job["createdById"], json!(server.user_id(Role::SuperAdmin)));

        let cleanup = submit(&server, NewJob::new("jobs.retention_cleanup", json!({}))).await;
        let wanted = (400, "not_cancellable".to_owned());
        assert_eq!(refusal(&admin, "POST", &format!("/api/jobs/{cleanup}/cancel"), None).await, wanted);
        once(&admin, &cleanup, &["completed"]).await;

        let rows = admin.get("/api/audit?pageSize=200").await;
        let mut told: Vec<(String, String, Value)> = rows["items"].as_array().expect("a list").iter()
            .filter(|row| row["objectType"] == "platform_job")
            .map(|row| {
                let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
                (text("action"), text("result"), row["metadata"].clone())
            })
            .collect();
        told.sort_by_key(|row| format!("{row:?}"));
        let plain = |reason: Value, new: Value| json!({ "type": OPEN, "reason": reason, "newJobId": new });
        let mut wanted: Vec<(String, String, Value)> = vec![
            ("jobs.cancel".into(), "success".into(), plain(json!(null), json!(null))),
            ("jobs.cancel".into(), "failure".into(), plain(json!(null), json!(null))),
            ("jobs.resume".into(), "failure".into(), plain(json!("not_resumable"), json!(null))),
            ("jobs.pause".into(), "success".into(), plain(json!(null), json!(null))),
            ("jobs.resume".into(), "success".into(), plain(json!(null), json!(null))),
            ("jobs.retry".into(), "failure".into(), plain(json!("not_failed"), json!(null))),
            ("jobs.retry".into(), "success".into(), plain(json!(null), json!(null))),
            ("jobs.rerun".into(), "success".into(), plain(json!(null), json!(new))),
        ];
        wanted.sort_by_key(|row| format!("{row:?}"));
        assert_eq!(told, wanted);
    }

    async fn many_at_once(db: &TestDb) {
        let server = start(db).await;
        let admin = server.admin();
        let (one, other) = (submit(&server, doing(OPEN, "complete")).await, submit(&server, doing(OPEN, "fail")).await);
        once(&admin, &one, &["completed"]).await;
        once(&admin, &other, &["failed"]).await;
        let bulk = async |verb: &str, ids: Value| admin.post(&format!("/api/jobs/bulk/{verb}"), json!({ "jobIds": ids })).await;
        assert_eq!(bulk("cancel", json!([])).await, json!({ "total": 0, "succeeded": [], "failed": [], "level": "success" }));
        assert_eq!(bulk("retry", json!([one, other, other, "nobody"])).await, json!({
            "total": 4, "succeeded": [other],
            "failed": [{ "id": one, "reason": "not_failed" }, { "id": "nobody", "reason": "not_found" }], "level": "partial",
        }));
        once(&admin, &other, &["completed"]).await;
        assert_eq!(bulk("cancel", json!([one])).await, json!({
            "total": 1, "succeeded": [], "failed": [{ "id": one, "reason": "failed" }], "level": "failure",
        }));
        let rerun = bulk("rerun", json!([one, other])).await;
        assert_eq!((&rerun["succeeded"], &rerun["level"]), (&json!([one, other]), &json!("success")));
        let audited = admin.get("/api/audit?action=jobs.bulk_retry").await;
        assert_eq!(audited["items"][0]["metadata"], json!({ "requested": 4, "succeeded": 1, "failed": 2 }));
        let many: Vec<String> = (0..201).map(|number| number.to_string()).collect();
        for (body, message) in [
            (json!({ "jobIds": many }), "jobIds must contain no more than 200 elements"),
            (json!({ "jobIds": "x" }), "jobIds must be an array"),
            (json!({ "jobIds": [1, {}] }), "each value in jobIds must be a string"),
            (json!({}), "jobIds must be an array"),
            (json!({ "jobIds": [], "force": true }), "property force should not exist"),
        ] {
            let (status, text) = refusal(&admin, "POST", "/api/jobs/bulk/cancel", Some(&body)).await;
            assert!(status == 400 && text.contains(message), "{body}: {status} {text}");
        }
    }

    async fn every_loop_of_the_server_is_a_schedule(db: &TestDb) {
        let server = start(db).await;
        let schedules = server.admin().get("/api/jobs/schedules").await;
        let schedules = schedules.as_array().expect("a list");
        let named = |name: &str| schedules.iter().find(|schedule| schedule["name"] == name);
        for (name, interval, module) in [
            ("platform_job_stall_detector", 30_000, "jobs_center"),
            ("platform_job_retention_cleanup", 86_400_000, "system"),
            ("files_trash_retention_sweep", 3_600_000, "system"),
            ("storage_watch", 300_000, "system"),
            ("provider_watch", 60_000, "system"),
            ("torrent_sync", 2000, "torrents"),
        ] {
            let wanted = json!({
                "name": name, "module": module, "triggerType": "interval", "intervalMs": interval, "cron": null, "enabled": true,
            });
            assert_eq!(named(name), Some(&wanted));
            assert_eq!(keys(&wanted), words(SCHEDULE));
        }
        for (name, module) in [
            ("torrent_moves", "torrents"),
            ("rss_poll", "rss"),
            ("media.library_scans", "media_manager"),
            ("media.probe_backfill", "media_manager"),
            ("titledb.auto_update", "media_manager"),
            ("media_server_health_check", "media_server_analytics"),
            ("shows.refresh", "system"),
            ("notification_delivery_worker", "system"),
            ("automation.runs", "system"),
        ] {
            assert_eq!(named(name).map(|schedule| &schedule["module"]), Some(&json!(module)), "{name}");
        }
        assert!(schedules.is_sorted_by_key(|schedule| schedule["name"].as_str().expect("a name")));
        // Whatever has run is counted by its name, so whatever is counted has to be listed.
        let metrics = server.admin().send("GET", "/api/system/metrics", None).await.text();
        let counted: BTreeSet<&str> = metrics
            .lines()
            .filter_map(|line| line.strip_prefix("quartermaster_loop_runs_total{loop=\"")?.split('"').next())
            .collect();
        assert!(counted.len() >= 8, "{counted:?}");
        for name in counted {
            assert!(named(name).is_some(), "the loop `{name}` is not listed");
        }
    }

    async fn the_simple_list_knows_the_media_managers_jobs(db: &TestDb) {
        let server = start(db).await;
        let media = qm_jobs::JobType {
            module: "media_manager", ..scripted("media.library_scan", Some(Permission::MediaManagerView))
        };
        server.jobs().register(media);
        let admin = server.admin();
        let done = submit(&server, NewJob { library_id: Some("lib".into()), ..doing("media.library_scan", "complete") }).await;
        once(&admin, &done, &["completed"]).await;
        let failed = submit(&server, NewJob { name: Some("scan".into()), ..doing("media.library_scan", "fail") }).await;
        once(&admin, &failed, &["failed"]).await;
        let paused = submit(&server, NewJob { media_item_id: Some("item".into()), ..doing("media.library_scan", "pause") }).await;
        once(&admin, &paused, &["running"]).await;
        submit(&server, doing(OPEN, "complete")).await;
        let reader = server.user(Role::ReadOnly);
        let all = reader.get("/api/jobs").await;
        let jobs = all["jobs"].as_array().expect("a list");
        assert_eq!(keys(&jobs[0]), words(SUMMARY));
        let shown: Vec<_> = jobs.iter().map(|job| (job["status"].as_str().expect("a word"), job["label"].clone())).collect();
        assert_eq!(shown, [("running", json!("item")), ("failed", json!("scan")), ("completed", json!("lib"))]);
        assert_eq!((&jobs[1]["subsystem"], &jobs[1]["error"]), (&json!("media"), &json!("it broke, token=[redacted]")));
        for (query, count) in [
            ("subsystem=media", 3), ("subsystem=subtitle", 0), ("subsystem=nonsense", 0), ("status=failed", 1),
            ("status=nonsense", 0), ("active=true", 1), ("active=1", 1), ("active=maybe", 3), ("limit=2", 2), ("limit=0", 1),
            ("limit=-5", 1), ("limit=many", 3), ("limit=1000", 3),
        ] {
            let list = reader.get(&format!("/api/jobs?{query}")).await;
            assert_eq!(list["jobs"].as_array().map(Vec::len), Some(count), "{query}");
        }
        let mut claims = qm_testkit::token::claims(Role::ReadOnly, 4_000_000_000);
        claims["permissions"] = json!([]);
        let nobody = reader.with_token(Some(qm_testkit::token::good(&claims)));
        assert_eq!(nobody.get("/api/jobs").await, json!({ "jobs": [] }));
        admin.act(&format!("/api/jobs/{paused}/pause")).await;
        once(&admin, &paused, &["paused"]).await;
    }

    async fn a_job_is_told_of_to_who_may_see_it(db: &TestDb) {
        let server = start(db).await;
        let mut admin = Ws::connect(&server.admin()).await;
        let mut reader = Ws::connect(&server.user(Role::ReadOnly)).await;
        for socket in [&mut admin, &mut reader] {
            next_message(socket, "auth:ok").await;
        }
        let guarded = submit(&server, doing(GUARDED, "complete")).await;
        for event in ["jobs.created", "jobs.queued", "jobs.started", "jobs.completed"] {
            let heard = next_message(&mut admin, event).await;
            assert_eq!(heard["jobId"], json!(guarded), "{event}");
        }
        let open = submit(&server, doing(OPEN, "progress")).await;
        // Of the other job a reader has heard nothing, so the first it hears of is this one.
        for (event, status, progress) in [
            ("jobs.created", "queued", 0), ("jobs.queued", "queued", 0), ("jobs.started", "running", 0),
            ("jobs.phase_changed", "running", 25), ("jobs.completed", "completed", 100),
        ] {
            let heard = next_message(&mut reader, event).await;
            let seen = (&heard["jobId"], &heard["type"], &heard["status"], &heard["progress"]);
            assert_eq!(seen, (&json!(open), &json!(OPEN), &json!(status), &json!(progress)), "{event}");
            assert_eq!(keys(&heard), words(
                "at correlationId errorCode jobId message moduleKey parentJobId phase progress rootJobId status type workspaceKey",
            ));
        }
        let failed = submit(&server, doing(OPEN, "fail")).await;
        let heard = next_message(&mut reader, "jobs.failed").await;
        assert_eq!((&heard["jobId"], &heard["errorCode"], &heard["message"]), (&json!(failed), &json!("broken"), &json!("it broke, token=[redacted]")));
        server.admin().act(&format!("/api/jobs/{failed}/retry")).await;
        assert_eq!(next_message(&mut reader, "jobs.retrying").await["status"], "retrying");
        let long = submit(&server, doing(OPEN, "obey")).await;
        once(&server.admin(), &long, &["running"]).await;
        server.admin().act(&format!("/api/jobs/{long}/cancel")).await;
        for event in ["jobs.cancelling", "jobs.cancelled"] {
            assert_eq!(next_message(&mut reader, event).await["jobId"], json!(long));
        }
        let patient = submit(&server, doing(OPEN, "pause")).await;
        once(&server.admin(), &patient, &["running"]).await;
        server.admin().act(&format!("/api/jobs/{patient}/pause")).await;
        assert_eq!(next_message(&mut reader, "jobs.paused").await["jobId"], json!(patient));
        server.admin().act(&format!("/api/jobs/{patient}/resume")).await;
        assert_eq!(next_message(&mut reader, "jobs.resumed").await["jobId"], json!(patient));
        let parent = submit(&server, doing(OPEN, "child")).await;
        assert_eq!(next_message(&mut reader, "jobs.child_created").await["parentJobId"], json!(parent));
    }
}
