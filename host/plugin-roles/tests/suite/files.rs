//! Files that are no plugins, or not ones for this host: listed with a sentence, never run, never in the way.

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;

use qm_kernel::Ctx;
use qm_net::{Net, NetConfig};
use qm_plugin_host::{
    Compiler, Limits, PinsInMemory, PluginHostConfig, PluginHostError, PluginState, ValuesInMemory,
};
use qm_plugin_roles::Plugins;
use qm_ports::engine::{Attention, EngineError};
use serde_json::json;

use crate::bench::{Bench, fixture};

#[tokio::test]
async fn every_file_is_listed_with_its_reason() {
    let bench = Bench::start(&[
        ("a_good.wasm", "misbehave.wasm"),
        ("b_twin.wasm", "misbehave_v2.wasm"),
        ("future.wasm", "future_api.wasm"),
        ("garbage.wasm", "describe_garbage.wasm"),
        ("loops.wasm", "describe_loop.wasm"),
        ("traps.wasm", "describe_trap.wasm"),
        ("transmission.wasm", "transmission.wasm"),
    ])
    .await;
    let good = fixture("misbehave.wasm");
    bench.install("core.wasm", &wat::parse_str("(module)").unwrap());
    bench.install("cut.wasm", &good[..good.len() / 2]);
    bench.install("empty.wasm", b"");
    bench.install("text.wasm", b"hello, I am a plugin");
    bench.install("no_role.wasm", &wat::parse_str("(component)").unwrap());
    let hollow = r#"(component (instance $i) (export "quartermaster:engine/engine@0.1.0" (instance $i)))"#;
    bench.install("hollow.wasm", &wat::parse_str(hollow).unwrap());
    bench
        .until("the new files are read", |list| {
            list.len() == 13 && list.iter().all(|status| status.state != PluginState::Compiling)
        })
        .await;

    for (file, state, id, says) in [
        ("a_good.wasm", PluginState::Active, "misbehave", ""),
        (
            "b_twin.wasm",
            PluginState::Conflicting,
            "misbehave",
            "`misbehave` belongs to `a_good.wasm`",
        ),
        ("transmission.wasm", PluginState::Active, "transmission", ""),
        (
            "future.wasm",
            PluginState::Incompatible,
            "future",
            "needs plugin API 0.9 of the role `engine`, this host speaks 0.1–0.2",
        ),
        ("garbage.wasm", PluginState::Failed, "garbage", "its id must be"),
        ("loops.wasm", PluginState::Failed, "loops", "it cannot be run"),
        ("traps.wasm", PluginState::Failed, "traps", "it cannot be run"),
        ("core.wasm", PluginState::Failed, "core", "core module"),
        ("cut.wasm", PluginState::Failed, "cut", ""),
        ("empty.wasm", PluginState::Failed, "empty", "no WebAssembly"),
        ("text.wasm", PluginState::Failed, "text", "no WebAssembly"),
        ("no_role.wasm", PluginState::Failed, "no_role", "exports no role"),
        ("hollow.wasm", PluginState::Failed, "hollow", ""),
    ] {
        let status = bench.status(file);
        assert_eq!(
            (status.state, status.id.as_str()),
            (state, id),
            "{file}: {status:#?}"
        );
        let reason = status.reason.unwrap_or_default();
        assert!(reason.contains(says), "{file}: {reason}");
        assert_eq!(
            state == PluginState::Active,
            reason.is_empty(),
            "{file}: {reason}"
        );
    }
    let future = bench.status("future.wasm");
    assert_eq!(
        (future.api_version.as_deref(), future.kind.as_deref()),
        (Some("0.9.0"), Some("engine"))
    );
    let kinds: Vec<_> = bench
        .host
        .engine_kinds()
        .kinds()
        .into_iter()
        .map(|kind| kind.id)
        .collect();
    assert_eq!(kinds, ["misbehave", "transmission"]);
}

#[tokio::test]
async fn what_a_file_is_shows_in_the_list() {
    let bench = Bench::start(&[("misbehave.wasm", "misbehave.wasm")]).await;
    let status = serde_json::to_value(bench.status("misbehave.wasm")).unwrap();
    assert_eq!(status["id"], "misbehave");
    assert_eq!(status["kind"], "engine");
    assert_eq!(status["apiVersion"], "0.1.0");
    assert_eq!(status["state"], "active");
    assert_eq!(status["size"], fixture("misbehave.wasm").len());
    assert_eq!(status["sha256"].as_str().map(str::len), Some(64));
    assert!(
        status["exports"]
            .as_array()
            .unwrap()
            .contains(&json!("quartermaster:engine/engine@0.1.0"))
    );
    assert!(
        status["imports"]
            .as_array()
            .unwrap()
            .contains(&json!("quartermaster:base/log@0.1.0"))
    );
}

#[tokio::test]
async fn an_unknown_kind_and_a_senseless_grant_are_refused() {
    let bench = Bench::start(&[("misbehave.wasm", "misbehave.wasm")]).await;
    let unknown = bench.open("e", "deluge", json!({})).await.err().unwrap();
    assert!(
        matches!(&unknown, EngineError::Unsupported(text) if text.contains("deluge")),
        "{unknown}"
    );
    let wildcard = bench
        .open("e", "misbehave", json!({"host": "*", "port": 80}))
        .await
        .err()
        .unwrap();
    assert!(
        matches!(&wildcard, EngineError::InvalidConfig(text) if text.contains("`host`")),
        "{wildcard}"
    );
    let missing = bench.host.reload("nothing").await.unwrap_err();
    assert!(matches!(missing, PluginHostError::NoSuchPlugin(_)), "{missing}");
}

#[tokio::test]
async fn a_start_after_the_first_maps_what_was_compiled() {
    let bench = Bench::start(&[
        ("misbehave.wasm", "misbehave.wasm"),
        ("traps.wasm", "describe_trap.wasm"),
    ])
    .await;
    let kept = || {
        std::fs::read_dir(bench.cache())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        kept().len(),
        2,
        "what does not pass its trial is not compiled again either"
    );
    std::fs::remove_file(bench.dir().join("traps.wasm")).unwrap();
    bench.until("the file is gone", |list| list.len() == 1).await;
    bench.host.reload("misbehave").await.unwrap();
    let [file] = &kept()[..] else {
        panic!("one file is there, kept: {:?}", kept())
    };
    let mode = std::fs::metadata(bench.cache()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let made = std::fs::metadata(file).unwrap().modified().unwrap();
    let again = bench.again().await;
    assert_eq!(again.engine_kinds().kinds().len(), 1);
    assert_eq!(
        std::fs::metadata(file).unwrap().modified().unwrap(),
        made,
        "it was compiled again"
    );

    // Damaged, it is compiled again, and the plugin works.
    // By another file: the one that is mapped must not change under those who run it.
    std::fs::remove_file(file).unwrap();
    std::fs::write(file, b"nonsense").unwrap();
    let after = bench.again().await;
    assert_eq!(after.engine_kinds().kinds().len(), 1);
    let engine = after
        .engine_kinds()
        .open("e", "misbehave", qm_ports::engine::EngineConfig::default())
        .await
        .unwrap();
    assert_eq!(
        engine
            .poll(None, Attention::Watched, &[])
            .await
            .unwrap()
            .changed
            .len(),
        3
    );
}

#[tokio::test]
async fn without_a_directory_there_is_one_clear_line() {
    let home = tempfile::tempdir().unwrap();
    let config = PluginHostConfig {
        plugins_dir: home.path().join("nowhere"),
        cache_dir: home.path().join("cache"),
        compiler: Compiler::InProcess,
        pins: std::sync::Arc::new(PinsInMemory::default()),
        values: std::sync::Arc::new(ValuesInMemory::default()),
        judge: |_, _| Ok(()),
        limits: Limits::default(),
        net: Net::new(NetConfig::default()).unwrap(),
        first_party: HashSet::new(),
    };
    let error = Plugins::start(config, Ctx::system())
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("nowhere") && error.contains("PLUGINS_DIR") && !error.contains('\n'),
        "{error}"
    );
}

/// Runs one of the tests above in a process that may use 3 GiB of address space, less than a memory's usual reservation.
#[tokio::test]
async fn little_address_space_is_enough() {
    let this = std::env::current_exe().unwrap();
    let limited = std::process::Command::new("sh")
        .args([
            "-c",
            r#"ulimit -v 3145728 && exec "$0" --exact files::a_start_after_the_first_maps_what_was_compiled"#,
        ])
        .arg(this)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&limited.stdout);
    assert!(
        limited.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&limited.stderr)
    );
}
