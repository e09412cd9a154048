//! A role without a WIT world, for tests of the core: its guests are written by hand and export functions without parameters.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_kernel::Ctx;
use qm_net::{Net, NetConfig};
use serde_json::{Map, Value};
use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre, Linker};

use super::trial::Trial;
use crate::role::{
    Answer, CallContext, CallSpec, Code, Descriptor, Fault, Lane, Loaded, PluginCalls, Resident, Role, Roles,
    State, Version,
};
use crate::{
    Check, Compiler, Limits, PinsInMemory, PluginHost, PluginHostConfig, PluginState, ValuesInMemory,
};

/// A role of any name.
pub(crate) struct TestRole {
    name: &'static str,
    interface: &'static str,
    offers: &'static [&'static str],
}

pub(crate) const ENGINE: TestRole = TestRole {
    name: "engine",
    interface: "engine/engine",
    offers: &["quartermaster:engine/records@0.1"],
};

/// Roles of all tests of the core.
pub(crate) const ROLES: Roles = &[
    &ENGINE,
    &TestRole {
        name: "channel",
        interface: "channel/channel",
        offers: &["quartermaster:channel/messages@0.1"],
    },
    &TestRole {
        name: "action-set",
        interface: "actions/actions",
        offers: &["quartermaster:actions/torrents@0.1"],
    },
];

impl Role for TestRole {
    fn name(&self) -> &'static str {
        self.name
    }

    fn interface(&self) -> &'static str {
        self.interface
    }

    fn spoken(&self) -> (Version, Version) {
        (Version { major: 0, minor: 1 }, Version { major: 0, minor: 1 })
    }

    fn has_own_hosts(&self) -> bool {
        false
    }

    fn offers(&self) -> &'static [&'static str] {
        self.offers
    }

    fn add_to_linker(&self, _linker: &mut Linker<State>) -> wasmtime::Result<()> {
        Ok(())
    }

    fn prepare(&self, _version: Version, pre: InstancePre<State>) -> wasmtime::Result<Arc<dyn Code>> {
        Ok(Arc::new(TestCode(pre)))
    }

    fn contract(&self, _trial: Trial) -> BoxFuture<'static, Vec<Check>> {
        Box::pin(async { Vec::new() })
    }
}

/// A guest that says nothing of itself.
struct TestCode(InstancePre<State>);

#[async_trait]
impl Code for TestCode {
    async fn describe(&self, mut store: Store<State>) -> wasmtime::Result<Descriptor> {
        self.0.instantiate_async(&mut store).await?;
        Ok(Descriptor {
            id: "guest".to_owned(),
            label: "Guest".to_owned(),
            version: "1.0.0".to_owned(),
            config_schema: r#"{"type":"object"}"#.to_owned(),
            capabilities: Vec::new(),
            hosts: Vec::new(),
            traits: Map::new(),
        })
    }
}

/// Interface that a guest exports.
const EXPORT: &str = "quartermaster:engine/engine@0.1.0";

/// A guest whose `answer` is a number, and which traps or computes without end.
fn guest(answer: u32) -> Vec<u8> {
    let text = format!(
        r#"(component
          (core module $code
            (func (export "answer") (result i32) (i32.const {answer}))
            (func (export "trap") (result i32) unreachable)
            (func (export "compute") (result i32) (loop $again (br $again)) unreachable))
          (core instance $running (instantiate $code))
          (func $answer (result u32) (canon lift (core func $running "answer")))
          (func $trap (result u32) (canon lift (core func $running "trap")))
          (func $compute (result u32) (canon lift (core func $running "compute")))
          (instance $exported
            (export "answer" (func $answer))
            (export "trap" (func $trap))
            (export "compute" (func $compute)))
          (export "{EXPORT}" (instance $exported)))"#
    );
    wat::parse_str(text).unwrap()
}

/// The guest of a lane.
struct Session {
    store: Store<State>,
    instance: Instance,
}

#[async_trait]
impl Resident for Session {
    type Error = String;

    fn state(&mut self) -> &mut State {
        self.store.data_mut()
    }

    async fn close(&mut self) -> wasmtime::Result<()> {
        Ok(())
    }
}

fn open(
    code: Arc<Loaded>,
    mut store: Store<State>,
    _config: Arc<Map<String, Value>>,
) -> BoxFuture<'static, Answer<Box<Session>, String>> {
    Box::pin(async move {
        let Some(TestCode(pre)) = code.code_as() else {
            return Ok(Err("it is of another role".to_owned()));
        };
        let instance = pre.instantiate_async(&mut store).await?;
        Ok(Ok(Box::new(Session { store, instance })))
    })
}

/// Calls a function of the guest.
async fn run(store: &mut Store<State>, instance: Instance, function: &str) -> Answer<u32, String> {
    let exported = instance.get_export_index(&mut *store, None, EXPORT).unwrap();
    let function = instance
        .get_export_index(&mut *store, Some(&exported), function)
        .unwrap();
    let function = instance.get_typed_func::<(), (u32,)>(&mut *store, &function)?;
    let (answer,) = function.call_async(&mut *store, ()).await?;
    Ok(Ok(answer))
}

async fn call(calls: &PluginCalls, function: &'static str) -> Result<Result<u32, String>, Fault> {
    let spec = CallSpec {
        config: &Map::new(),
        context: CallContext::default(),
        total: Duration::from_mins(1),
    };
    let called = calls.call(spec, |code, store| {
        Box::pin(async move {
            let TestCode(pre) = code.code_as().unwrap();
            let instance = pre.instantiate_async(&mut *store).await?;
            run(store, instance, function).await
        })
    });
    called.await
}

async fn start(home: &Path) -> Arc<PluginHost> {
    let plugins_dir = home.join("plugins");
    std::fs::create_dir(&plugins_dir).unwrap();
    std::fs::write(plugins_dir.join("guest.wasm"), guest(7)).unwrap();
    let config = PluginHostConfig {
        plugins_dir,
        cache_dir: home.join("cache"),
        compiler: Compiler::InProcess,
        pins: Arc::<PinsInMemory>::default(),
        values: Arc::<ValuesInMemory>::default(),
        judge: |_, _| Ok(()),
        limits: Limits {
            cpu: Duration::from_millis(100),
            silence: Duration::from_mins(1),
            ..Limits::default()
        },
        net: Net::new(NetConfig::default()).unwrap(),
        first_party: HashSet::new(),
    };
    let host = PluginHost::start(config, Ctx::system(), ROLES).await.unwrap();
    host.settled().await;
    host
}

#[tokio::test]
async fn a_call_of_its_own_ends_in_a_word_or_a_fault_and_the_next_one_is_well() {
    let home = tempfile::tempdir().unwrap();
    let host = start(home.path()).await;
    let installed = host.installed();
    let ids: Vec<_> = installed
        .of_role("engine")
        .into_iter()
        .map(|about| about.id)
        .collect();
    assert_eq!(ids, ["guest"]);
    assert!(
        installed.calls("channel", "call").of_plugin("guest").is_none(),
        "it is of another role"
    );
    let engines = installed.calls("engine", "call");
    let calls = engines.of_plugin("guest").unwrap();
    assert_eq!(call(&calls, "answer").await, Ok(Ok(7)));
    let trap = call(&calls, "trap").await.unwrap_err();
    assert!(trap.to_string().contains("unreachable"), "{trap}");
    let endless = call(&calls, "compute").await.unwrap_err();
    assert_eq!(
        endless,
        Fault::Failed("it computed for more than 0.1 s in one call".to_owned())
    );
    // One failure costs no pause, the second one a second.
    assert!(
        call(&calls, "answer")
            .await
            .unwrap_err()
            .to_string()
            .contains("tried again")
    );
    std::fs::write(home.path().join("plugins/guest.wasm"), guest(8)).unwrap();
    assert_eq!(host.reload("guest").await.unwrap().state, PluginState::Active);
    assert_eq!(call(&calls, "answer").await, Ok(Ok(8)), "other code starts anew");
    let [status] = &host.list()[..] else {
        panic!("one file")
    };
    assert_eq!((status.calls, status.traps, status.timeouts), (4, 2, 0));
    host.shutdown().await;
}

#[tokio::test]
async fn a_lane_replaces_the_instance_that_trapped() {
    let home = tempfile::tempdir().unwrap();
    let host = start(home.path()).await;
    let installed = host.installed();
    assert!(
        installed
            .owner(("channel", "guest"), "e", Map::new(), Vec::new())
            .is_none()
    );
    let owner = installed
        .owner(("engine", "guest"), "e", Map::new(), Vec::new())
        .unwrap();
    let lane: Lane<Session> = Lane::start("sync", Arc::new(owner), open);
    let ask = |function: &'static str| {
        lane.call(Duration::from_mins(1), move |session: &mut Session| {
            Box::pin(run(&mut session.store, session.instance, function))
        })
    };
    assert_eq!(ask("answer").await, Ok(Ok(7)));
    assert!(ask("trap").await.is_err());
    assert_eq!(ask("answer").await, Ok(Ok(7)));
    let [status] = &host.list()[..] else {
        panic!("one file")
    };
    assert_eq!((status.calls, status.traps, status.restarts), (3, 1, 1));
    assert_eq!(
        (status.lanes[0].owner.as_str(), status.lanes[0].lane.as_str()),
        ("e", "sync")
    );
    lane.close().await;
    assert_eq!(ask("answer").await, Err(Fault::Closed));
    host.shutdown().await;
}
