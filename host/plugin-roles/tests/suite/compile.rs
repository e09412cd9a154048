//! Compiling is work for a process of its own: bombs end, are remembered, and nobody waits for them.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use qm_plugin_host::{Compiler, Limits, PluginState};
use qm_ports::engine::{Attention, EngineKinds};
use serde_json::json;

use crate::bench::{Bench, first_party, fixture, limits};

const ENTRY: [&str; 4] = [
    "--exact",
    "compile::the_compiling_child",
    "--ignored",
    "--nocapture",
];

#[test]
#[ignore = "the process that compiles for the tests below"]
fn the_compiling_child() {
    qm_plugin_host::compile_for_parent()
}

/// This very program, as a compiler.
fn child() -> Compiler {
    Compiler::myself(ENTRY).unwrap()
}

/// A shell that does `first` and becomes the compiler.
fn shell(first: &str) -> Compiler {
    let this = std::env::current_exe().unwrap();
    let mut args: Vec<OsString> = vec![
        "-c".into(),
        format!("{first}; exec \"$0\" \"$@\"").into(),
        this.into(),
    ];
    args.extend(ENTRY.map(OsString::from));
    Compiler::Child {
        program: "/bin/sh".into(),
        args,
    }
}

/// A small component that says it is an engine and takes a compiler minutes: `loops` flat loops, each of which may change
/// any of 10,000 variables.
fn bomb(loops: usize) -> Vec<u8> {
    let locals = "i32 ".repeat(10_000);
    let body: String = (0..loops)
        .map(|n| {
            let (a, b) = (n % 10_000, (n * 7 + 1) % 10_000);
            format!(
                "(loop (local.set {a} (i32.add (local.get {b}) (i32.const 1))) (br_if 0 (local.get {a})))"
            )
        })
        .collect();
    let text = format!(
        r#"(component (core module (func (local {locals}) {body})) (instance $i)
            (export "quartermaster:engine/engine@0.1.0" (instance $i)))"#
    );
    wat::parse_str(text).unwrap()
}

fn tight() -> Limits {
    Limits {
        compile_memory_bytes: 512 << 20,
        compile_cpu: Duration::from_secs(3),
        ..limits()
    }
}

#[tokio::test]
async fn a_bomb_ends_and_no_start_pays_for_it_again() {
    let bytes = bomb(6_000);
    assert!(bytes.len() < 120 << 10, "{} bytes", bytes.len());
    let files = [
        ("bomb.wasm", bytes),
        ("misbehave.wasm", fixture("misbehave.wasm")),
    ];
    let bench = Bench::at_once(&files, tight(), child()).await;
    bench.host.settled().await;
    let status = bench.status("bomb.wasm");
    assert_eq!(status.state, PluginState::Failed);
    let reason = status.reason.unwrap();
    assert!(reason.contains("compiling it takes more than"), "{reason}");
    assert_eq!(status.kind.as_deref(), Some("engine"));
    assert_eq!(bench.status("misbehave.wasm").state, PluginState::Active);

    // Nobody could compile: it is not even tried.
    let again = bench.again_with(tight(), shell("exit 9")).await;
    let reason = again.list()[0].reason.clone().unwrap();
    assert!(
        reason.contains("compiling it takes more than") && reason.contains("known from before"),
        "{reason}"
    );
    assert_eq!(
        again.engine_kinds().kinds().len(),
        1,
        "and what compiled is mapped"
    );
    let asked = again.reload("bomb").await.unwrap_err().to_string();
    assert!(
        asked.contains("the compiler failed"),
        "a reload tries it again: {asked}"
    );

    std::fs::remove_file(bench.dir().join("bomb.wasm")).unwrap();
    bench.until("the bomb is gone", |list| list.len() == 1).await;
    bench
        .until("what is remembered of it goes with it", |_| {
            let kept = std::fs::read_dir(bench.cache()).unwrap();
            kept.flatten()
                .all(|entry| entry.path().extension().is_some_and(|ending| ending == "cwasm"))
        })
        .await;
}

#[tokio::test]
async fn memory_is_limited_too() {
    let tight = Limits {
        compile_memory_bytes: 96 << 20,
        compile_cpu: Duration::from_mins(2),
        ..limits()
    };
    let bench = Bench::at_once(&[("bomb.wasm", bomb(6_000))], tight, child()).await;
    bench.host.settled().await;
    let reason = bench.status("bomb.wasm").reason.unwrap();
    assert!(reason.contains("more than 96 MiB of memory"), "{reason}");
}

#[tokio::test]
async fn what_cannot_be_used_is_never_compiled() {
    let nobody = Compiler::Child {
        program: "/nowhere/compiler".into(),
        args: vec![],
    };
    let text = |body: &str| {
        wat::parse_str(format!("(component (core module (func)) (instance $i) {body})")).unwrap()
    };
    let files = [
        ("future.wasm", fixture("future_api.wasm")),
        (
            "imports.wasm",
            text(
                r#"(import "quartermaster:base/time-machine@0.1.0" (instance))
                   (export "quartermaster:engine/engine@0.1.0" (instance $i))"#,
            ),
        ),
        (
            "loose.wasm",
            text(r#"(import "run" (func)) (export "quartermaster:engine/engine@0.1.0" (instance $i))"#),
        ),
        ("none.wasm", text("")),
        (
            "oracle.wasm",
            text(r#"(export "quartermaster:oracle/oracle@0.1.0" (instance $i))"#),
        ),
        ("good.wasm", fixture("misbehave.wasm")),
    ];
    let bench = Bench::at_once(&files, limits(), nobody).await;
    bench.host.settled().await;
    for (file, state, says) in [
        ("future.wasm", PluginState::Incompatible, "needs plugin API 0.9"),
        (
            "imports.wasm",
            PluginState::Failed,
            "time-machine@0.1.0`, which this host does not offer",
        ),
        (
            "loose.wasm",
            PluginState::Failed,
            "it imports `run`, which is no interface",
        ),
        ("none.wasm", PluginState::Failed, "exports no role"),
        ("oracle.wasm", PluginState::Failed, "no use for the role"),
        ("good.wasm", PluginState::Failed, "the compiler cannot be started"),
    ] {
        let status = bench.status(file);
        let reason = status.reason.unwrap_or_default();
        assert!(status.state == state && reason.contains(says), "{file}: {reason}");
    }
    // That was the machine's fault and is not held against the file.
    let after = bench.again_with(limits(), child()).await;
    after.settled().await;
    assert_eq!(after.engine_kinds().kinds().len(), 1);
}

#[tokio::test]
async fn a_start_does_not_wait_for_the_compiler() {
    let files = [("misbehave.wasm", fixture("misbehave.wasm"))];
    // Longer than a busy machine takes for what follows.
    let bench = Bench::at_once(&files, limits(), shell("sleep 6")).await;
    let status = bench.status("misbehave.wasm");
    assert_eq!(status.state, PluginState::Compiling);
    assert_eq!(
        (status.kind.as_deref(), status.api_version.as_deref()),
        (Some("engine"), Some("0.1.0")),
        "what its bytes say is known"
    );
    assert!(bench.host.engine_kinds().kinds().is_empty());

    // Something new that needs no compiler does not wait either.
    bench.install("text.wasm", b"no plugin");
    bench
        .until("the other file is looked at", |list| list.len() == 2)
        .await;
    let seen = bench.host.engine_kinds().generation().current();
    bench.host.engine_kinds().generation().changed(seen).await;
    let engine = bench.engine("e", json!({})).await;
    assert!(engine.poll(None, Attention::Watched, &[]).await.unwrap().full);
}

#[tokio::test]
async fn the_compiler_sees_nothing_of_the_server() {
    let home = tempfile::tempdir().unwrap();
    let seen = home.path().join("environment");
    let spy = shell(&format!("env > {}; pwd >> {0}", seen.display()));
    let bench = Bench::at_once(&[("misbehave.wasm", fixture("misbehave.wasm"))], limits(), spy).await;
    bench.host.settled().await;
    assert_eq!(bench.status("misbehave.wasm").state, PluginState::Active);
    let seen = std::fs::read_to_string(seen).unwrap();
    let own = std::env::vars().filter(|(name, _)| name.starts_with("CARGO") || name == "HOME");
    for (name, _) in own {
        assert!(!seen.contains(&format!("{name}=")), "{seen}");
    }
    assert!(seen.lines().any(|line| line == "/"), "{seen}");
}

#[tokio::test]
async fn a_host_that_ends_takes_its_compiler_along() {
    let home = tempfile::tempdir().unwrap();
    let pid = home.path().join("pid");
    let slow = shell(&format!("echo $$ > {}; sleep 60", pid.display()));
    let bench = Bench::at_once(&[("misbehave.wasm", fixture("misbehave.wasm"))], limits(), slow).await;
    bench
        .until("the compiler runs", |_| {
            std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))
        })
        .await;
    let process = format!("/proc/{}/stat", std::fs::read_to_string(&pid).unwrap().trim());
    bench.host.shutdown().await;
    bench
        .until("the compiler is gone", |_| {
            // Killed and not yet waited for is gone as well.
            std::fs::read_to_string(&process).map_or(true, |stat| stat.contains(") Z "))
        })
        .await;
}

/// As when the server is killed: nobody is left to end the child.
#[test]
fn a_compiler_without_a_parent_ends() {
    let home = tempfile::tempdir().unwrap();
    let code = home.path().join("code");
    std::fs::write(&code, "").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(ENTRY)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = bomb(6_000);
    let order = json!({
        "addressSpace": u64::MAX, "length": bytes.len(), "code": code, "memoryBytes": 1_u64 << 32, "cpuSeconds": 60,
        "codeBytes": 1 << 20,
    });
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{order}\n").as_bytes()).unwrap();
    stdin.write_all(&bytes).unwrap();
    drop(stdin);
    let status = child.wait().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(status.code(), Some(12), "{said}");
}

#[tokio::test]
async fn every_start_after_the_first_compiles_nothing_however_many_plugins_there_are() {
    let files = [
        ("actions.wasm", first_party("torrent_actions.wasm")),
        ("misbehave.wasm", fixture("misbehave.wasm")),
        ("webhook.wasm", first_party("webhook.wasm")),
    ];
    let bench = Bench::at_once(&files, limits(), child()).await;
    bench.host.settled().await;
    for start in 1..=3 {
        let again = bench.again_with(limits(), shell("exit 9")).await;
        again.settled().await;
        let states: Vec<_> = again
            .list()
            .into_iter()
            .map(|plugin| (plugin.state, plugin.reason))
            .collect();
        assert_eq!(
            states,
            vec![(PluginState::Active, None); files.len()],
            "at start {start} after the first"
        );
    }
}

/// A kind that nobody provides may be that of a file that waits for the compiler; one that could not be compiled is no
/// reason to wait.
#[tokio::test]
async fn an_unknown_kind_is_settled_once_nothing_of_its_role_waits() {
    let home = tempfile::tempdir().unwrap();
    let gate = home.path().join("gate");
    let held = shell(&format!(
        "until [ -e {} ]; do sleep 0.05; done; exit 9",
        gate.display()
    ));
    let files = [("courier.wasm", fixture("courier.wasm"))];
    let bench = Bench::at_once(&files, limits(), held).await;
    let channels = bench.host.channels();
    let settling = channels.settling("courier").expect("it is being compiled");
    let told = settling.to_string();
    assert!(
        told.contains("the channel courier") && told.contains("`courier.wasm` is being compiled"),
        "{told}"
    );
    assert!(
        channels.settling("another").is_some(),
        "a file may provide anything"
    );
    assert_eq!(
        bench.host.actions().settling("carry"),
        None,
        "its role is told before it is compiled"
    );
    assert_eq!(
        EngineKinds::settling(&*bench.host.engine_kinds(), "misbehave"),
        None
    );
    let unknown = bench.host.configured_by("nobody").unwrap_err();
    assert_eq!(unknown.kind(), qm_kernel::ErrorKind::Unavailable, "{unknown}");
    std::fs::write(&gate, "").unwrap();
    bench.host.settled().await;
    assert_eq!(bench.status("courier.wasm").state, PluginState::Failed);
    assert_eq!(channels.settling("courier"), None);
    let unknown = bench.host.configured_by("nobody").unwrap_err();
    assert_eq!(unknown.kind(), qm_kernel::ErrorKind::NotFound, "{unknown}");
}
