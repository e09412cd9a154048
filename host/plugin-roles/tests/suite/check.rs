//! `quartermaster plugin check`.

use std::path::PathBuf;

use qm_kernel::Ctx;
use qm_net::{Net, NetConfig};
use qm_plugin_host::{CheckOptions, CheckReport, PluginState};
use qm_plugin_roles::check;
use serde_json::{Map, Value, json};

use crate::bench::fixture;

fn options(target: Option<Map<String, Value>>, cache_dir: Option<PathBuf>) -> CheckOptions {
    CheckOptions {
        target,
        judge: |_, config| match config.get("refuse") {
            Some(_) => Err("config.refuse should not exist".to_owned()),
            None => Ok(()),
        },
        cache_dir,
    }
}

async fn run(name: &str, target: Option<Value>) -> CheckReport {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(name);
    std::fs::write(&file, fixture(name)).unwrap();
    let target = target.map(|target| target.as_object().unwrap().clone());
    let options = options(target, Some(home.path().join("cache")));
    check(
        &file,
        options,
        &Net::new(NetConfig::default()).unwrap(),
        Ctx::system(),
    )
    .await
    .unwrap()
}

#[tokio::test]
async fn a_configuration_the_schema_refuses_is_told_and_not_tried() {
    let report = run("misbehave.wasm", Some(json!({"refuse": 1}))).await;
    assert_eq!(report.checks.len(), 1, "{:#?}", report.checks);
    assert!(!report.passed() && report.checks[0].detail.contains("config.refuse"));
}

fn failed(report: &CheckReport) -> Vec<&'static str> {
    report
        .checks
        .iter()
        .filter(|check| !check.passed)
        .map(|check| check.name)
        .collect()
}

#[tokio::test]
async fn an_honest_engine_passes() {
    let report = run("misbehave.wasm", Some(json!({"torrents": 5, "changing": 1}))).await;
    assert!(report.passed(), "{:#?}", report.checks);
    assert!(report.checks.len() >= 12 && report.config_schema.is_some());
}

#[tokio::test]
async fn each_breach_is_named() {
    for (target, breach) in [
        (
            json!({"mode": "no_base"}),
            "a first poll gives every torrent once",
        ),
        (
            json!({"mode": "trap", "after": 1}),
            "a poll with that cursor gives what changed",
        ),
        (
            json!({"mode": "error", "on": "health", "error": "auth"}),
            "health tells the product's version",
        ),
        (
            json!({"mode": "trap", "on": "files"}),
            "files of an unknown torrent are not found",
        ),
        (
            json!({"mode": "trap", "on": "open"}),
            "it opens a session with this configuration",
        ),
    ] {
        let report = run("misbehave.wasm", Some(target.clone())).await;
        assert_eq!(failed(&report), [breach], "{target}");
        assert!(!report.passed());
    }
}

#[tokio::test]
async fn an_engine_that_answers_in_full_every_time_passes() {
    let report = run(
        "misbehave.wasm",
        Some(json!({"torrents": 5, "mode": "huge_list"})),
    )
    .await;
    assert!(report.passed(), "{:#?}", report.checks);
    assert!(
        report
            .checks
            .iter()
            .any(|check| check.detail.starts_with("everything again, 5 torrents"))
    );
}

#[tokio::test]
async fn a_channel_is_tried_where_whoever_checks_it_says() {
    let report = run(
        "courier.wasm",
        Some(json!({"url": "http://127.0.0.1:1/", "code": "x"})),
    )
    .await;
    assert!(report.passed(), "{:#?}", report.checks);
    assert_eq!(report.checks.len(), 3);
}

#[tokio::test]
async fn without_a_target_it_tells_what_the_file_is() {
    let report = run("transmission.wasm", None).await;
    assert!(report.passed() && report.checks.is_empty(), "{report:#?}");
    assert_eq!(report.plugin.label.as_deref(), Some("Transmission"));
    let report = run("future_api.wasm", None).await;
    assert_eq!(
        (report.plugin.state, report.passed()),
        (PluginState::Incompatible, false)
    );
    let nowhere = check(
        "nowhere.wasm".as_ref(),
        options(None, None),
        &Net::new(NetConfig::default()).unwrap(),
        Ctx::system(),
    )
    .await;
    assert!(nowhere.is_err());
}
