//! Tests of the routes over HTTP, with one broken plugin.

#![allow(clippy::unwrap_used, reason = "the whole crate is tests")]

use std::collections::HashSet;
use std::sync::Arc;
mod exposition;
mod settings;
mod trail;

use std::path::Path;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use prometheus::Registry;
use qm_db::{Db, db_test};
use qm_kernel::{Ctx, Permission, Role, Secret, Timestamp};
use qm_net::{Net, NetConfig};
use qm_platform::area::ContextAction;
use qm_platform::testing::{self, Claims};
use qm_platform::{Audit, AuditTrail, Bus, Cipher, Node, Sealed, SecretSettings, Settings};
use qm_plugin_host::{Compiler, Limits, PluginHost, PluginHostConfig};
use qm_ports::{EngineProbe, EngineProbes};
use qm_realtime::{Hub, HubConfig};
use qm_system::health::{Health, disks::Disks};
use qm_system::{Sources, System, UpdateDeps, Updates};
use qm_test_base::RoleTokens;
use qm_web::WebConfig;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use exposition::Exposition;

/// One engine that answers and one that hangs.
struct Engines;

#[async_trait::async_trait]
impl EngineProbes for Engines {
    async fn probe_all(&self, patience: Duration) -> Vec<EngineProbe> {
        let probe = |id: &str, online: bool, error: Option<String>| EngineProbe {
            engine_id: id.to_owned(),
            name: id.to_owned(),
            kind: "scgi_client".to_owned(),
            online,
            latency_ms: online.then_some(7),
            version: online.then(|| "0.15.7".to_owned()),
            error,
            checked_at: Timestamp::from_secs(1_932_628_500),
        };
        assert!(
            patience < Duration::from_secs(10),
            "the answer comes within some ten seconds"
        );
        let hangs = "hangs did not answer".to_owned();
        vec![probe("answers", true, None), probe("hangs", false, Some(hangs))]
    }
}

static CONTEXT_ACTIONS: &[ContextAction] = &[
    ContextAction::new("a.look", ("media", "file"), &[Permission::FilesView], ("Eye", 10))
        .arity("single")
        .capability("readable"),
    ContextAction::new(
        "a.clear",
        ("maintenance", "file"),
        &[Permission::FilesView, Permission::FilesDelete],
        ("Trash2", 90),
    )
    .destructive()
    .operations_only()
    .shown_disabled()
    .at_most(200),
];

async fn system(db: &Db, config: PluginHostConfig, folder: &Path, metrics: &Registry, ctx: &Ctx) -> System {
    let (net, started) = (config.net.clone(), Instant::now());
    let plugins = PluginHost::start(config, ctx.clone(), &[]).await.unwrap();
    let audit = Audit::new(ctx.clone());
    let cipher = Cipher::new(&Secret::new("k".repeat(32)), ctx.clone());
    let settings = Settings::new(ctx.clone(), cipher.clone());
    let build = qm_system::build!();
    let sources = Sources {
        db: db.clone(),
        bus: Bus::new(ctx.clone()),
        hub: Hub::new(HubConfig::default(), Arc::new(RoleTokens), ctx.clone()),
        plugins: plugins.clone(),
        build,
        started,
    };
    sources.register(metrics).unwrap();
    let roots = ["", "/gone"].map(|below| format!("{}{below}", folder.display()));
    System {
        db: db.clone(),
        health: Health {
            engines: Arc::new(Engines),
            plugins: plugins.clone(),
            disks: Disks::new(&roots),
            sealed: Sealed::new(
                db.clone(),
                cipher.clone(),
                audit.clone(),
                vec![Arc::new(SecretSettings::declared())],
            ),
            started,
        },
        node: Node::alone("test"),
        updates: Updates::new(UpdateDeps {
            ground: testing::ground(db, ctx, Arc::new(Claims)),
            net,
            url: None,
            current: build.version,
        }),
        audit,
        acting: Arc::new(Claims),
        trail: AuditTrail::new(db.clone(), ctx.clone()),
        settings,
        modules: qm_system::AREA.modules.iter().collect(),
        context_actions: CONTEXT_ACTIONS.iter().collect(),
        environment: settings::environment().into(),
        plugins,
        configurations: configurations(ctx),
        ctx: ctx.clone(),
        product: "Box".into(),
        build,
        started,
        metrics: metrics.clone(),
    }
}

fn configurations(ctx: &Ctx) -> qm_system::PluginConfigurations {
    qm_system::PluginConfigurations::new(Cipher::new(&Secret::new("key"), ctx.clone()), ctx.clone())
}

struct Service {
    router: Router,
    /// Directory with the plugins; removed when dropped.
    folder: tempfile::TempDir,
}

impl Service {
    async fn new(db: &Db) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plugins_dir = folder.path().join("plugins");
        std::fs::create_dir(&plugins_dir).unwrap();
        std::fs::write(plugins_dir.join("broken.wasm"), b"no component").unwrap();
        let ctx = Ctx::system();
        let config = PluginHostConfig {
            plugins_dir,
            cache_dir: folder.path().join("cache"),
            compiler: Compiler::InProcess,
            pins: Arc::new(qm_system::PluginPins::new(db.clone(), ctx.clone())),
            values: Arc::new(qm_system::PluginValues::new(db.clone(), configurations(&ctx))),
            judge: qm_platform::config_schema::judge_params,
            limits: Limits::default(),
            net: Net::new(NetConfig {
                ssrf_allow_hosts: Vec::new(),
                plugin_relays: Vec::new(),
            })
            .unwrap(),
            first_party: HashSet::default(),
        };
        let web = WebConfig::default();
        let system = system(db, config, folder.path(), &web.metrics, &ctx).await;
        let routes = qm_system::routes().with_state(system);
        let router = qm_web::finish(routes, web, Arc::new(RoleTokens), ctx);
        Self { router, folder }
    }

    async fn call(&self, method: &str, path: &str, role: Option<Role>) -> (StatusCode, Value) {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(role) = role {
            request = request.header("authorization", format!("Bearer {}", role.name()));
        }
        let response = self
            .router
            .clone()
            .oneshot(request.body(Body::empty()).unwrap())
            .await
            .unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap())
    }
}

impl Service {
    /// Parses the metrics.
    async fn metrics(&self) -> Exposition {
        let request = Request::builder()
            .uri("/api/system/metrics")
            .header("authorization", "Bearer READ_ONLY");
        let request = request.body(Body::empty()).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let kind = response.headers()["content-type"].to_str().unwrap();
        assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        exposition::read(std::str::from_utf8(&body).unwrap())
    }
}

qm_db::sql! { AUDITED = "SELECT action, object_id, result FROM audit_logs"; }

async fn audited(db: &Db) -> Vec<(String, Option<String>, String)> {
    let mut tx = db.begin_read().await.unwrap();
    qm_db::all!(&mut tx, (String, Option<String>, String), AUDITED)
        .await
        .unwrap()
}

db_test! {
    async fn anybody_may_ask_how_it_is(db: Db) {
        let service = Service::new(&db).await;
        let (status, live) = service.call("GET", "/api/system/live", None).await;
        assert_eq!((status, &live["status"]), (StatusCode::OK, &json!("ok")));
        assert!(live["uptime"].as_f64().is_some_and(|secs| (0.0..60.0).contains(&secs)), "{live}");
        let ready = service.call("GET", "/api/system/ready", None).await;
        assert_eq!(ready, (StatusCode::OK, json!({ "status": "ok", "database": true })));
        let (status, version) = service.call("GET", "/api/system/version", None).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(version["product"], "Box");
        assert_eq!(version["apiVersion"], "v1");
        assert_eq!(version["edition"], "community");
    }

    async fn without_its_database_it_is_degraded_and_alive(db: Db) {
        let service = Service::new(&db).await;
        db.close().await;
        let ready = service.call("GET", "/api/system/ready", None).await;
        assert_eq!(ready, (StatusCode::OK, json!({ "status": "degraded", "database": false })));
        assert_eq!(service.call("GET", "/api/system/live", None).await.0, StatusCode::OK);
    }

    async fn toolbars_get_what_their_user_may_do(db: Db) {
        let service = Service::new(&db).await;
        let path = "/api/context-actions/catalog";
        let look = json!({
            "id": "a.look", "group": "media", "entityTypes": ["file"], "arity": "single", "operationsOnly": false,
            "destructive": false, "requiresEntityCapability": "readable", "whenUnavailable": "hide", "async": false,
            "icon": "Eye", "order": 10,
        });
        let clear = json!({
            "id": "a.clear", "group": "maintenance", "entityTypes": ["file"], "arity": "any", "operationsOnly": true,
            "destructive": true, "maxSelection": 200, "whenUnavailable": "disable", "async": false, "icon": "Trash2",
            "order": 90,
        });
        let withheld = |count: usize| json!({ "total": 2, "withheld": { "permission": count, "module": 0, "feature": 0, "provider": 0 } });
        for (role, actions, lacking) in [
            (Role::SuperAdmin, json!([look, clear]), 0),
            (Role::PowerUser, json!([look, clear]), 0),
            (Role::ReadOnly, json!([look]), 1),
        ] {
            let (status, answer) = service.call("GET", path, Some(role)).await;
            assert_eq!((status, &answer["actions"]), (StatusCode::OK, &actions), "{role:?}");
            assert_eq!(answer["diagnostics"], withheld(lacking), "{role:?}");
        }
        assert_eq!(service.call("GET", path, None).await.0, StatusCode::UNAUTHORIZED);
    }

    async fn plugins_are_shown_to_those_who_may_see_the_system(db: Db) {
        let service = Service::new(&db).await;
        for role in Role::ALL {
            let (status, _) = service.call("GET", "/api/plugins", Some(*role)).await;
            let expected = if *role == Role::User { StatusCode::FORBIDDEN } else { StatusCode::OK };
            assert_eq!(status, expected, "{role:?}");
        }
        assert_eq!(service.call("GET", "/api/plugins", None).await.0, StatusCode::UNAUTHORIZED);
        let (_, list) = service.call("GET", "/api/plugins", Some(Role::ReadOnly)).await;
        let plugins = list.as_array().unwrap();
        assert_eq!(plugins.len(), 1);
        assert_eq!((&plugins[0]["id"], &plugins[0]["file"]), (&json!("broken"), &json!("broken.wasm")));
        assert_eq!((&plugins[0]["state"], &plugins[0]["size"]), (&json!("failed"), &json!(12)));
        assert!(plugins[0]["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{list}");
    }

    async fn only_a_super_admin_reloads_and_a_failure_is_audited(db: Db) {
        let service = Service::new(&db).await;
        for role in &Role::ALL[1..] {
            let (status, body) = service.call("POST", "/api/plugins/none/reload", Some(*role)).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{role:?}");
            assert_eq!(body["message"], "Missing permission(s): system.manage");
        }
        let (status, body) = service.call("POST", "/api/plugins/none/reload", Some(Role::SuperAdmin)).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        let code = "not_found.plugin";
        assert_eq!(
            body,
            json!({ "message": "Plugin not found", "error": "Not Found", "statusCode": 404, "code": code })
        );
        assert!(audited(&db).await.is_empty(), "nothing was there to be reloaded");

        let (status, body) = service.call("POST", "/api/plugins/broken/reload", Some(Role::SuperAdmin)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
        assert!(body["message"].as_str().is_some_and(|message| message.contains("`broken` was not reloaded")), "{body}");
        let expected = ("plugins.reload".to_owned(), Some("broken".to_owned()), "failure".to_owned());
        assert_eq!(audited(&db).await, [expected]);
    }

    async fn health_shows_engines_plugins_disks_and_secrets(db: Db) {
        let service = Service::new(&db).await;
        for role in Role::ALL {
            let (status, _) = service.call("GET", "/api/system/health", Some(*role)).await;
            let expected = if *role == Role::User { StatusCode::FORBIDDEN } else { StatusCode::OK };
            assert_eq!(status, expected, "{role:?}");
        }
        let (_, health) = service.call("GET", "/api/system/health", Some(Role::ReadOnly)).await;
        let process = &health["process"];
        assert!(process["uptime"].as_f64().is_some_and(|secs| (0.0..60.0).contains(&secs)), "{process}");
        assert!(process["memory"].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{process}");
        assert!(process["cpus"].as_u64().is_some_and(|cpus| cpus > 0), "{process}");
        assert!(process["runtime"].is_string() && process["nodeVersion"] == process["runtime"], "{process}");
        assert!(process["load"].as_array().is_some_and(|load| load.len() == 3), "{process}");
        let at = "2031-03-30T09:15:00.000Z";
        let engines = json!([
            {
                "engineId": "answers", "kind": "scgi_client", "online": true, "latencyMs": 7, "version": "0.15.7",
                "error": null, "checkedAt": at,
            },
            {
                "engineId": "hangs", "kind": "scgi_client", "online": false, "latencyMs": null, "version": null,
                "error": "hangs did not answer", "checkedAt": at,
            },
        ]);
        assert_eq!(health["engines"], engines);
        assert_eq!(health["plugins"][0]["id"], "broken");
        assert_eq!(health["plugins"][0]["state"], "failed");
        assert!(health["plugins"][0]["reason"].is_string());
        let disk = &health["disks"][0];
        let number = |name: &str| disk[name].as_u64().unwrap();
        assert!(number("total") > 0, "{disk}");
        assert_eq!(number("used"), number("total") - number("free"));
        assert!(disk.get("error").is_none(), "{disk}");
        let gone = format!("{}/gone", service.folder.path().display());
        let unavailable = json!({ "path": gone, "total": 0, "free": 0, "used": 0, "error": "unavailable" });
        assert_eq!(health["disks"][1], unavailable);
        assert_eq!(health["secrets"], json!({ "unreadable": [] }));
    }

    async fn health_answers_without_its_database(db: Db) {
        let service = Service::new(&db).await;
        db.close().await;
        let (status, health) = service.call("GET", "/api/system/health", Some(Role::ReadOnly)).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(health["engines"].as_array().map(Vec::len), Some(2));
    }

    async fn the_update_routes_say_how_it_stands_and_only_a_manager_switches(db: Db) {
        let service = Service::new(&db).await;
        let (status, update) = service.call("GET", "/api/system/update", Some(Role::ReadOnly)).await;
        assert_eq!(status, StatusCode::OK);
        let known = ["latest", "checkedAt", "error", "latestUrl", "changelogUrl"];
        assert!(known.iter().all(|name| update[*name] == Value::Null), "{update}");
        assert_eq!((&update["updateAvailable"], &update["checkEnabled"]), (&json!(false), &json!(false)));
        assert_eq!(update["current"], env!("CARGO_PKG_VERSION"));
        assert!(["docker", "bare"].contains(&update["deployment"].as_str().unwrap()), "{update}");
        assert!(update["updateSteps"].as_array().is_some_and(|steps| !steps.is_empty()), "{update}");
        assert_eq!(update.as_object().unwrap().len(), 10, "{update}");

        let (status, checked) = service.call("POST", "/api/system/update/check", Some(Role::ReadOnly)).await;
        assert_eq!((status, &checked), (StatusCode::CREATED, &update));
        for role in Role::ALL {
            let (status, body) = service.call("PATCH", "/api/system/update/settings", Some(*role)).await;
            let expected = if *role == Role::SuperAdmin { StatusCode::OK } else { StatusCode::FORBIDDEN };
            assert_eq!(status, expected, "{role:?}: {body}");
        }
        let expected = ("settings.update".to_owned(), Some("system.updateCheck".to_owned()), "success".to_owned());
        assert_eq!(audited(&db).await, [expected]);
    }

    async fn metrics_are_what_prometheus_reads(db: Db) {
        let service = Service::new(&db).await;
        let (status, _) = service.call("GET", "/api/system/metrics", Some(Role::User)).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        for path in ["/api/system/live", "/api/system/live", "/api/no/such/1", "/api/no/such/2"] {
            service.call("GET", path, None).await;
        }
        service.call("POST", "/api/plugins/some-id/reload", Some(Role::SuperAdmin)).await;
        let metrics = service.metrics().await;
        let requests = |labels: &str| metrics.value(&format!("quartermaster_http_requests_total{{{labels}}}"));
        assert!((requests(r#"method="GET",route="/api/system/live",status="200""#) - 2.0).abs() < 0.1);
        assert!((requests(r#"method="GET",route="unmatched",status="404""#) - 2.0).abs() < 0.1);
        assert!((requests(r#"method="POST",route="/api/plugins/{id}/reload",status="404""#) - 1.0).abs() < 0.1);
        let text = metrics.samples.keys().map(String::as_str).collect::<String>();
        assert!(!text.contains("no/such") && !text.contains("some-id"), "no path of a caller's is a label");
        for series in [
            "process_resident_memory_bytes",
            "process_open_fds",
            "process_threads",
            "quartermaster_uptime_seconds",
        ] {
            assert!(metrics.value(series) > 0.0, "{series}");
        }
        for series in [
            "process_cpu_seconds_total",
            "quartermaster_http_throttled_total",
            r#"quartermaster_plugin_calls_total{plugin="broken"}"#,
            r#"quartermaster_events_total{outcome="published"}"#,
            r#"quartermaster_realtime_sockets{state="authenticated"}"#,
            "quartermaster_realtime_resyncs_total",
        ] {
            assert!(metrics.value(series) >= 0.0, "{series}");
        }
        assert!((metrics.value("quartermaster_http_in_flight") - 1.0).abs() < 0.1, "the one that asks");
        let open = metrics.samples.iter().filter(|(series, _)| series.starts_with("quartermaster_database_connections{"));
        assert!(open.map(|(_, value)| value).sum::<f64>() >= 1.0);
        let buckets = |metrics: &Exposition| {
            let last = r#"quartermaster_http_request_seconds_bucket{method="GET",route="/api/system/live",le="+Inf"}"#;
            metrics.value(last)
        };
        assert!((buckets(&metrics) - 2.0).abs() < 0.1);
        assert_eq!(metrics.types["quartermaster_http_request_seconds"], "histogram");
    }
}
