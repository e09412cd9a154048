//! The role `action-set`: what a run may touch, what it may not, and what becomes of one that misbehaves.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use qm_kernel::{Permission, PermissionSet};
use qm_plugin_host::{CheckOptions, Compiler, Granted, LaneState, Limits, PluginState, PluginStatus};
use qm_plugin_roles::check;
use qm_ports::Removal;
use qm_ports::action::{ActionCall, ActionError, Actions, Occasion, TorrentHands, TorrentRef};
use serde_json::{Map, Value, json};

use crate::bench::{Bench, fixture, limits, patient};
use crate::network::{answer, listen};

pub const PORTER: &[(&str, &str)] = &[("porter.wasm", "porter.wasm")];

pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("parameters are an object: {other}"),
    }
}

pub fn torrent() -> TorrentRef {
    TorrentRef {
        engine_id: "e1".to_owned(),
        hash: "a".repeat(40),
    }
}

/// A run for a torrent.
pub fn call(params: Value) -> ActionCall {
    ActionCall {
        author: None,
        run_id: "run-7".to_owned(),
        occasion: Occasion::Torrent,
        params: object(params),
        context: object(json!({ "hash": "a".repeat(40), "ratio": 2.0 })),
        torrent: Some(torrent()),
        powers: PermissionSet::all(),
    }
}

pub async fn run(actions: &Arc<dyn Actions>, params: Value) -> Result<(), ActionError> {
    actions.run("carry", call(params)).await
}

/// Text that the fixture answers as `rejected`.
pub async fn rejected_text(actions: &Arc<dyn Actions>, params: Value) -> String {
    match run(actions, params).await {
        Err(ActionError::Rejected(text)) => text,
        other => panic!("not an answer of the fixture: {other:?}"),
    }
}

/// Hands that note what they were told to do.
#[derive(Default)]
struct Hands {
    done: Mutex<Vec<String>>,
    /// Error that they answer instead.
    failure: Mutex<Option<ActionError>>,
    /// Time that they take.
    pause: Mutex<Duration>,
}

impl Hands {
    async fn note(&self, torrent: &TorrentRef, what: &str) -> Result<(), ActionError> {
        let pause = *self.pause.lock().unwrap();
        tokio::time::sleep(pause).await;
        self.done
            .lock()
            .unwrap()
            .push(format!("{what} {}", torrent.engine_id));
        self.failure.lock().unwrap().clone().map_or(Ok(()), Err)
    }

    fn done(&self) -> Vec<String> {
        std::mem::take(&mut *self.done.lock().unwrap())
    }
}

#[async_trait]
impl TorrentHands for Hands {
    async fn read(&self, torrent: &TorrentRef) -> Result<Option<Map<String, Value>>, ActionError> {
        self.note(torrent, "read").await?;
        Ok(Some(object(json!({ "hash": torrent.hash, "name": "x" }))))
    }

    async fn pause(&self, torrent: &TorrentRef) -> Result<(), ActionError> {
        self.note(torrent, "pause").await
    }

    async fn stop(&self, torrent: &TorrentRef) -> Result<(), ActionError> {
        self.note(torrent, "stop").await
    }

    async fn start(&self, torrent: &TorrentRef) -> Result<(), ActionError> {
        self.note(torrent, "start").await
    }

    async fn relocate(&self, torrent: &TorrentRef, destination: &str) -> Result<(), ActionError> {
        self.note(torrent, &format!("move to {destination} of")).await
    }

    async fn remove(&self, torrent: &TorrentRef, removal: Removal<'_>) -> Result<(), ActionError> {
        let keeping = if removal.keep_shared {
            ", keeping what others use"
        } else {
            ""
        };
        self.note(torrent, &format!("remove {}{keeping}", removal.with_data))
            .await
    }

    async fn label(&self, torrent: &TorrentRef, label: &str) -> Result<(), ActionError> {
        self.note(torrent, &format!("label {label}")).await
    }

    async fn tags(&self, torrent: &TorrentRef, add: &[String], remove: &[String]) -> Result<(), ActionError> {
        self.note(torrent, &format!("tags +{} -{}", add.join(","), remove.join(",")))
            .await
    }
}

/// A host with the fixture installed and hands wired; the hands live as long as their value.
async fn with_hands() -> (Bench, Arc<Hands>, Arc<dyn TorrentHands>) {
    let bench = Bench::start(PORTER).await;
    let hands = Arc::new(Hands::default());
    let wired: Arc<dyn TorrentHands> = hands.clone();
    bench.host.use_hands(&wired);
    (bench, hands, wired)
}

pub async fn grant(bench: &Bench, words: &[&str]) {
    bench.pins.grant_capabilities("porter", words);
    bench.host.follow_grants("porter").await.unwrap();
}

#[tokio::test]
async fn actions_are_listed_with_what_rules_need_of_them() {
    let bench = Bench::start(PORTER).await;
    let kinds = bench.host.actions().actions();
    let ids: Vec<_> = kinds.iter().map(|kind| kind.id.as_str()).collect();
    assert_eq!(ids, ["carry", "shelve", "shout"]);
    let shout = &kinds[2];
    assert_eq!(
        (&*shout.label, &*shout.category, &*shout.plugin),
        ("Carry", "test", "porter")
    );
    assert_eq!(shout.occasions, [Occasion::Torrent, Occasion::Event]);
    assert!(shout.idempotent && shout.params_schema["properties"]["token"]["writeOnly"] == true);
    let status = bench.status("porter.wasm");
    assert_eq!(status.kind.as_deref(), Some("action-set"));
    assert_eq!(status.asks, ["http-guarded", "media", "torrents"]);
    assert_eq!((status.granted_capabilities, status.reason), (vec![], None));
    assert!(bench.host.channels().channels().is_empty());
}

#[tokio::test]
async fn a_run_is_given_what_it_is_about_and_is_judged_before_anything_is_made() {
    let bench = Bench::start(PORTER).await;
    let actions = bench.host.actions();
    assert_eq!(run(&actions, json!({})).await, Ok(()));
    let text = rejected_text(&actions, json!({ "mode": "echo" })).await;
    assert!(
        text.starts_with("run-7 Occasion::Torrent {") && text.contains(r#""ratio":2.0"#),
        "{text}"
    );
    let calls = bench.status("porter.wasm").calls;

    let wrong = run(&actions, json!({ "mode": 5, "speed": "hunter22" })).await;
    let expected = "mode must be a string; unknown parameter `speed`";
    assert_eq!(wrong, Err(ActionError::InvalidParams(expected.to_owned())));
    let unknown = actions.run("carry_\u{202e}off", call(json!({}))).await;
    assert_eq!(
        unknown.unwrap_err().to_string(),
        "Unknown action type: carry_ off"
    );
    let misplaced = async |occasion| {
        let call = ActionCall {
            occasion,
            ..call(json!({}))
        };
        actions.run("carry", call).await.unwrap_err().to_string()
    };
    assert_eq!(
        misplaced(Occasion::Event).await,
        "Action \"carry\" is not valid for an event trigger"
    );
    assert_eq!(
        misplaced(Occasion::Media).await,
        "Action \"carry\" is only valid for a torrent trigger"
    );
    assert_eq!(
        bench.status("porter.wasm").calls,
        calls,
        "no instance was made for any of these"
    );
}

#[tokio::test]
async fn a_run_gets_no_more_than_its_action_stands_for_whatever_it_was_granted() {
    use Permission as P;
    let (bench, hands, _wired) = with_hands().await;
    let actions = bench.host.actions();
    grant(&bench, &["torrents"]).await;
    let kinds = actions.actions();
    let carry = kinds.iter().find(|kind| kind.id == "carry").unwrap();
    for need in [
        P::TorrentsDeleteData,
        P::TorrentsMove,
        P::MediaManagerManageLibraries,
    ] {
        assert!(
            carry.needs.contains(&need),
            "it declares nothing: {:?}",
            carry.needs
        );
    }
    let done = [
        ("stop", P::TorrentsStop, "stop e1"),
        ("move", P::TorrentsMove, "move to /d of e1"),
        ("tag", P::TagsManage, "tags +a -b e1"),
        ("label", P::CategoriesManage, "label /d e1"),
        ("remove_often", P::TorrentsDeleteData, "remove true e1"),
    ];
    for (mode, need, told) in done {
        let with = async |powers: PermissionSet| {
            let call = ActionCall {
                powers,
                ..call(json!({ "mode": mode, "value": "/d" }))
            };
            actions.run("carry", call).await
        };
        let others = P::ALL.iter().copied().filter(|other| *other != need);
        let denied = with(others.collect()).await;
        let why = format!("the action does not declare the permission {}", need.key());
        assert_eq!(denied, Err(ActionError::Denied(why)), "{mode}");
        assert!(hands.done().is_empty(), "{mode}");
        // The last of them ends by its 33rd use.
        let _ = with(PermissionSet::empty().with(need)).await;
        assert_eq!(hands.done()[0], told, "{mode}");
    }
}

#[tokio::test]
async fn a_torrent_is_touched_when_that_was_granted_and_only_the_one_of_the_run() {
    let (bench, hands, wired) = with_hands().await;
    let actions = bench.host.actions();
    let denied = run(&actions, json!({ "mode": "stop" })).await;
    assert_eq!(
        denied,
        Err(ActionError::Denied("`torrents` is not granted".to_owned()))
    );
    assert!(hands.done().is_empty());
    let refusal = bench.status("porter.wasm").last_refusal.unwrap();
    assert_eq!(refusal.what, "`torrents` is not granted");

    grant(&bench, &["torrents", "everything"]).await;
    assert_eq!(
        bench.status("porter.wasm").granted_capabilities,
        ["torrents"],
        "it does not ask for the other"
    );
    assert_eq!(run(&actions, json!({ "mode": "stop" })).await, Ok(()));
    assert_eq!(
        run(&actions, json!({ "mode": "move", "value": "/d" })).await,
        Ok(())
    );
    assert_eq!(run(&actions, json!({ "mode": "tag" })).await, Ok(()));
    let read: Value =
        serde_json::from_str(&rejected_text(&actions, json!({ "mode": "read" })).await).unwrap();
    assert_eq!(read["hash"], json!("a".repeat(40)));
    assert_eq!(
        hands.done(),
        ["stop e1", "move to /d of e1", "tags +a -b e1", "read e1"]
    );

    *hands.failure.lock().unwrap() = Some(ActionError::NotFound("Torrent not found".to_owned()));
    assert_eq!(
        run(&actions, json!({ "mode": "stop" })).await,
        Err(ActionError::NotFound("Torrent not found".to_owned()))
    );
    *hands.failure.lock().unwrap() = None;
    let about_none = ActionCall {
        occasion: Occasion::Event,
        torrent: None,
        ..call(json!({ "mode": "stop" }))
    };
    let none = actions.run("shout", about_none).await;
    assert!(matches!(none, Err(ActionError::Rejected(why)) if why.contains("no torrent")));

    hands.done();
    let often = run(&actions, json!({ "mode": "remove_often" })).await;
    assert!(
        matches!(&often, Err(ActionError::Rejected(why)) if why.contains("32 times")),
        "{often:?}"
    );
    assert_eq!(hands.done().len(), 32);

    grant(&bench, &[]).await;
    assert!(
        matches!(
            run(&actions, json!({ "mode": "stop" })).await,
            Err(ActionError::Denied(_))
        ),
        "taken back"
    );
    grant(&bench, &["torrents"]).await;
    drop((hands, wired));
    assert!(matches!(
        run(&actions, json!({ "mode": "stop" })).await,
        Err(ActionError::Unreachable(_))
    ));
}

#[tokio::test]
async fn a_slow_engine_is_no_fault_of_the_plugin() {
    let (bench, hands, _wired) = with_hands().await;
    grant(&bench, &["torrents"]).await;
    // Longer than the silence that a plugin may keep here.
    *hands.pause.lock().unwrap() = Duration::from_millis(1500);
    assert_eq!(
        run(&bench.host.actions(), json!({ "mode": "stop" })).await,
        Ok(())
    );
    let status = bench.status("porter.wasm");
    assert_eq!((status.timeouts, status.traps), (0, 0));
}

#[tokio::test]
async fn what_was_built_together_with_the_host_may_use_what_it_asks_for() {
    let bench = Bench::start(PORTER).await;
    let host = bench.again_built_together().await;
    let granted = &host.list()[0].granted_capabilities;
    assert_eq!(*granted, ["http-guarded", "media", "torrents"]);
    let hands: Arc<dyn TorrentHands> = Arc::new(Hands::default());
    host.use_hands(&hands);
    assert_eq!(run(&host.actions(), json!({ "mode": "stop" })).await, Ok(()));
}

#[tokio::test]
async fn only_what_is_asked_for_can_be_granted() {
    let bench = Bench::start(PORTER).await;
    let wanted = |hosts: &[&str], words: &[&str]| {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        bench.host.may_grant(
            "porter",
            &Granted {
                hosts: owned(hosts),
                capabilities: owned(words),
            },
        )
    };
    let granted = wanted(&["https://LISTED.example/"], &["torrents", "torrents"]).unwrap();
    assert_eq!(
        (granted.hosts, granted.capabilities),
        (
            vec!["https://listed.example".to_owned()],
            vec!["torrents".to_owned()]
        )
    );
    let refused = wanted(&[], &["mail"]).unwrap_err().to_string();
    assert!(
        refused.contains("does not ask for mail; it asks for: http-guarded, media, torrents"),
        "{refused}"
    );
    assert!(wanted(&["https://evil.example"], &[]).is_err());
}

#[tokio::test]
async fn a_guarded_request_leads_outside_or_to_what_is_listed() {
    let (port, count) = listen(vec![answer("500 Oops", "x")], Duration::ZERO).await;
    let bench = Bench::start(PORTER).await;
    let actions = bench.host.actions();
    let to = |url: String| json!({ "mode": "guarded", "url": url });
    let denied = run(&actions, to("https://listed.example/".to_owned())).await;
    assert_eq!(
        denied,
        Err(ActionError::Denied("`http-guarded` is not granted".to_owned()))
    );

    grant(&bench, &["http-guarded"]).await;
    let blocked = "URL resolves to a blocked internal address (an administrator can allow the host in SSRF_ALLOW_HOSTS)";
    for (url, why) in [
        (format!("http://127.0.0.1:{port}/"), blocked),
        (format!("http://[::ffff:127.0.0.1]:{port}/"), blocked),
        (format!("http://inside.example:{port}/"), blocked),
        ("http://169.254.169.254/latest".to_owned(), blocked),
        (
            "ftp://listed.example/".to_owned(),
            "Only http(s) URLs are allowed",
        ),
        ("nonsense".to_owned(), "Invalid URL"),
    ] {
        assert_eq!(rejected_text(&actions, to(url.clone())).await, why, "{url}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
    assert_eq!(
        rejected_text(&actions, to(format!("http://listed.example:{port}/"))).await,
        "status 500"
    );
    assert_eq!(count.load(Ordering::SeqCst), 1);

    let (elsewhere, followed) = listen(vec![answer("200 OK", "x")], Duration::ZERO).await;
    let head = format!("302 Found\r\nlocation: http://listed.example:{elsewhere}/");
    let (redirecting, _) = listen(vec![answer(&head, "")], Duration::ZERO).await;
    assert_eq!(
        rejected_text(&actions, to(format!("http://listed.example:{redirecting}/"))).await,
        "redirects are not followed"
    );
    assert_eq!(followed.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_host_that_nobody_granted_is_not_dialled_by_an_action() {
    let (port, count) = listen(vec![answer("200 OK", "x")], Duration::ZERO).await;
    let bench = Bench::start(PORTER).await;
    let actions = bench.host.actions();
    let to = |url: String| json!({ "mode": "http", "url": url });
    for url in [
        "https://listed.example/".to_owned(),
        format!("http://127.0.0.1:{port}/"),
    ] {
        let refused = run(&actions, to(url.clone())).await;
        assert!(
            matches!(refused, Err(ActionError::Denied(_))),
            "{url}: {refused:?}"
        );
    }
    assert!(
        bench
            .status("porter.wasm")
            .last_refusal
            .unwrap()
            .what
            .contains("127.0.0.1")
    );
    bench.pins.grant("porter", &["https://listed.example"]);
    bench.host.follow_grants("porter").await.unwrap();
    // It leads to this machine: nobody answers there, but it was dialled.
    let dialled = run(&actions, to("https://listed.example/".to_owned())).await;
    assert!(matches!(dialled, Err(ActionError::Unreachable(_))), "{dialled:?}");
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_a_plugin_keeps_is_its_own_bounded_and_there_after_a_restart() {
    let bench = Bench::start(PORTER).await;
    let actions = bench.host.actions();
    let ask = async |mode: &str, key: &str, value: &str| {
        rejected_text(&actions, json!({ "mode": mode, "key": key, "value": value })).await
    };
    assert_eq!(ask("kv_set", "a", "1").await, "set");
    assert_eq!(ask("kv_claim", "a", "2").await, "false");
    assert_eq!(ask("kv_claim", "b", "2").await, "true");
    assert_eq!(ask("kv_keys", "", "").await, "a,b");
    let again = bench.again().await;
    assert_eq!(
        rejected_text(&again.actions(), json!({ "mode": "kv_get", "key": "b" })).await,
        r#"Some("2")"#
    );
    assert_eq!(ask("kv_remove", "a", "").await, "removed");
    assert_eq!(ask("kv_get", "a", "").await, "None");

    for (mode, key, why) in [
        ("kv_set", "", "1 byte at least"),
        ("kv_set", "n\0l", "no NUL"),
        ("kv_set", &*"k".repeat(257), "256 bytes at most"),
        ("kv_hoard", "large", "65536 bytes at most"),
        ("kv_flood", "", "128 times"),
    ] {
        let text = ask(mode, key, "").await;
        assert!(text.contains(why), "{mode} {key}: {text}");
    }
    assert_eq!(bench.status("porter.wasm").traps, 0);
}

#[tokio::test]
async fn what_an_action_does_wrong_is_a_typed_error_and_costs_one_run() {
    let bench = Bench::with(PORTER, patient()).await;
    let actions = bench.host.actions();
    let of = async |mode: &str| {
        run(&actions, json!({ "mode": mode, "token": "hunter22" }))
            .await
            .unwrap_err()
    };
    assert_eq!(
        of("leak").await,
        ActionError::Rejected("•••••••• is not liked, by run-7".to_owned())
    );
    match of("answer").await {
        ActionError::Rejected(text) => assert_eq!(text.len(), 1024),
        other => panic!("{other:?}"),
    }
    assert!(matches!(of("trap").await, ActionError::Plugin(why) if why.contains("told to")));
    assert!(matches!(of("loop").await, ActionError::Plugin(why) if why.contains("computed")));
    let waits = run(&actions, json!({})).await;
    assert!(
        matches!(waits, Err(ActionError::Plugin(why)) if why.contains("tried again")),
        "two strikes make it wait"
    );
}

#[tokio::test]
async fn a_plugin_is_handed_what_it_was_configured_with_and_cannot_tell_the_secrets_of_it() {
    let bench = Bench::start(PORTER).await;
    let actions = bench.host.actions();
    let configured = async || rejected_text(&actions, json!({ "mode": "configured" })).await;
    assert_eq!(configured().await, "{}");
    let enter = |config: Value| bench.values.configure("porter", object(config));
    enter(json!({ "greeting": "hello", "key": "very-secret", "of_an_older_file": 1 }));
    assert_eq!(configured().await, r#"{"greeting":"hello","key":"••••••••"}"#);

    enter(json!({ "greeting": "hello" }));
    assert_eq!(
        configured().await,
        "its plugin `porter` is not configured: key is required; see PUT /api/plugins/porter/config"
    );
    assert_eq!(bench.status("porter.wasm").traps, 0);
}

#[tokio::test]
async fn only_plugins_that_serve_all_at_once_are_configured_as_a_whole() {
    let bench = Bench::start(&[("porter.wasm", "porter.wasm"), ("courier.wasm", "courier.wasm")]).await;
    let schema = bench.host.configured_by("porter").unwrap();
    assert_eq!(schema["properties"]["key"]["writeOnly"], true);
    for (id, why) in [("courier", "one by one"), ("nobody", "no plugin `nobody`")] {
        let refused = bench.host.configured_by(id).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

#[tokio::test]
async fn a_run_has_a_total_and_only_so_many_run_and_wait() {
    let limits = Limits {
        run_total: Duration::from_millis(600),
        silence: Duration::from_mins(1),
        queue: 2,
        ..limits()
    };
    let bench = Bench::with(PORTER, limits).await;
    let actions = bench.host.actions();
    let began = Instant::now();
    let slow = || run(&actions, json!({ "mode": "sleep" }));
    let answers = futures_util::future::join_all((0..8).map(|_| slow())).await;
    let busy = answers
        .iter()
        .filter(|answer| **answer == Err(ActionError::Busy))
        .count();
    let late = answers
        .iter()
        .filter(|answer| matches!(answer, Err(ActionError::Timeout(why)) if why.contains("0.6 s")))
        .count();
    assert_eq!((busy, late), (2, 6), "four run and two wait: {answers:?}");
    assert!(began.elapsed() < Duration::from_mins(1), "they sleep a minute");
}

#[tokio::test]
async fn a_plugin_that_keeps_failing_is_parked_and_others_go_on() {
    let limits = Limits {
        strikes: 1,
        ..limits()
    };
    let files = &[("porter.wasm", "porter.wasm"), ("usurper.wasm", "usurper.wasm")];
    let bench = Bench::with(files, limits).await;
    let actions = bench.host.actions();
    assert!(run(&actions, json!({ "mode": "trap" })).await.is_err());
    let parked = run(&actions, json!({})).await;
    assert!(
        matches!(&parked, Err(ActionError::Plugin(why)) if why.contains("parked")),
        "{parked:?}"
    );
    let status = bench.status("porter.wasm");
    assert_eq!(
        (status.lanes[0].lane.as_str(), status.lanes[0].state),
        ("run", LaneState::Parked)
    );
    assert!(
        status
            .reason
            .is_some_and(|why| why.contains("run lane of `porter`"))
    );
    assert_eq!(
        actions.run("usurp", call(json!({}))).await,
        Err(ActionError::Rejected("usurped usurp".to_owned()))
    );
    bench.install("porter.wasm", &fixture("porter.wasm"));
    bench.host.reload("porter").await.unwrap();
    assert_eq!(run(&actions, json!({})).await, Ok(()));
}

#[tokio::test]
async fn an_action_belongs_to_the_plugin_that_was_pinned_first() {
    let bench = Bench::start(PORTER).await;
    bench.install("a_usurper.wasm", &fixture("usurper.wasm"));
    bench
        .until("the second plugin is in use", |plugins| {
            plugins
                .iter()
                .any(|plugin| plugin.id == "usurper" && plugin.state == PluginState::Active)
        })
        .await;
    let owners = |actions: &Arc<dyn Actions>| {
        let kinds = actions.actions().into_iter();
        kinds
            .map(|kind| format!("{} {}", kind.id, kind.plugin))
            .collect::<Vec<_>>()
    };
    let expected = ["carry porter", "shelve porter", "shout porter", "usurp usurper"];
    assert_eq!(owners(&bench.host.actions()), expected);
    assert_eq!(run(&bench.host.actions(), json!({})).await, Ok(()));
    let reason = bench.status("a_usurper.wasm").reason.unwrap();
    assert!(
        reason.contains("its action `carry` is not used: `porter`"),
        "{reason}"
    );
    assert_eq!(bench.status("porter.wasm").reason, None);
    // Also when the files are found in another order.
    let again = bench.again().await;
    assert_eq!(owners(&again.actions()), expected);

    std::fs::remove_file(bench.dir().join("porter.wasm")).unwrap();
    bench
        .until("the first one is gone", |plugins| plugins.len() == 1)
        .await;
    assert_eq!(owners(&bench.host.actions()), ["carry usurper", "usurp usurper"]);
    assert_eq!(bench.status("a_usurper.wasm").reason, None);
}

#[tokio::test]
async fn the_contract_of_the_role_is_tested_without_touching_anything() {
    let home = tempfile::tempdir().unwrap();
    let net = qm_net::Net::new(qm_net::NetConfig::default()).unwrap();
    for (name, passes) in [("porter.wasm", true), ("usurper.wasm", true)] {
        let file = home.path().join(name);
        std::fs::write(&file, fixture(name)).unwrap();
        let options = CheckOptions {
            target: Some(Map::new()),
            judge: qm_platform::config_schema::judge_params,
            cache_dir: None,
        };
        let report = check(&file, options, &net, qm_kernel::Ctx::system())
            .await
            .unwrap();
        assert_eq!(report.passed(), passes, "{:?}", report.checks);
        assert_eq!(report.checks.len(), 3, "{:?}", report.checks);
        let refusal = &report.checks[1];
        assert!(refusal.detail.contains("no_such_action"), "{refusal:?}");
    }
}

#[tokio::test]
async fn after_a_start_nobody_has_what_a_plugin_that_compiles_slowly_had_first() {
    let bench = Bench::start(PORTER).await;
    bench.install("a_usurper.wasm", &fixture("usurper.wasm"));
    let in_use = |plugins: &[PluginStatus]| {
        plugins
            .iter()
            .any(|plugin| plugin.id == "usurper" && plugin.state == PluginState::Active)
    };
    bench.until("the second plugin is in use", in_use).await;
    let sha256 = bench.status("porter.wasm").sha256.unwrap();
    let kept = std::fs::read_dir(bench.cache())
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let of_porter: Vec<_> = kept
        .filter(|path| path.to_string_lossy().contains(&sha256))
        .collect();
    assert_eq!(of_porter.len(), 1, "{of_porter:?}");
    std::fs::remove_file(&of_porter[0]).unwrap();

    let host = bench.again_with(limits(), Compiler::InProcess).await;
    let actions = host.actions();
    let mut refused_while_in_use = 0;
    loop {
        let usurper = in_use(&host.list());
        match run(&actions, json!({})).await {
            Ok(()) => break,
            Err(ActionError::Unknown(_)) => refused_while_in_use += u32::from(usurper),
            other => panic!("{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(
        refused_while_in_use > 0,
        "it was compiled before anybody could ask"
    );
    host.settled().await;
    assert_eq!(
        actions.run("usurp", call(json!({}))).await,
        Err(ActionError::Rejected("usurped usurp".to_owned()))
    );
}
