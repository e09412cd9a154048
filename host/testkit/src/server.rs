//! The whole service in this process: real routes, real database, real plugins or a scripted engine, on a free port.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use qm_db::Db;
use qm_identity::{HashCost, NewUser, Pace, Subject, TokenService};
use qm_jobs::Jobs;
use qm_kernel::{Ctx, PageQuery, PermissionSet, Role, Secret};
use qm_net::{Net, NetConfig, Resolver, SystemResolver};
use qm_platform::{Bus, Subscription};
use qm_plugin_host::{Compiler, Limits};
use qm_plugin_roles::Plugins;
use qm_ports::action::Actions;
use qm_ports::channel::Channels;
use qm_ports::engine::EngineKinds;
use qm_realtime::Hub;
use qm_server::app::{App, AppParts, Brought, Ending, Passwords};
use qm_server::config::Config;
use qm_server::node::Post;
use qm_server::secrets::Secrets;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::api::Api;
use crate::database::TestDb;
use crate::http::Http;
use crate::{code, plugins, token};
use qm_test_base::FakeKinds;
use qm_test_base::engine::torrent;

/// The password of every seeded user.
pub const PASSWORD: &str = "correct horse battery";

/// Options of a [`TestServer`].
pub struct Builder<'a> {
    db: &'a TestDb,
    plugins: Vec<&'static str>,
    kinds: Option<Arc<dyn EngineKinds>>,
    actions: Option<Arc<dyn Actions>>,
    channels: Option<Arc<dyn Channels>>,
    env: Vec<(&'static str, String)>,
    /// Certificates that mail servers are trusted by, beside the machine's.
    mail_roots: Vec<Vec<u8>>,
    resolver: Arc<dyn Resolver>,
    /// `None`: compiled in this process, and waited for.
    compiler: Option<Compiler>,
    limits: Limits,
    guesses: Pace,
    ctx: Ctx,
}

impl<'a> Builder<'a> {
    /// Plugin files to install; without any (and without [`Builder::kinds`]) no engine kind exists.
    pub fn plugins(mut self, files: &[&'static str]) -> Builder<'a> {
        self.plugins.extend_from_slice(files);
        self
    }

    /// Scripted engines instead of plugins.
    pub fn kinds(mut self, kinds: Arc<dyn EngineKinds>) -> Builder<'a> {
        self.kinds = Some(kinds);
        self
    }

    /// Scripted actions instead of plugins.
    pub fn actions(mut self, actions: Arc<dyn Actions>) -> Builder<'a> {
        self.actions = Some(actions);
        self
    }

    /// Scripted channels instead of plugins.
    pub fn channels(mut self, channels: Arc<dyn Channels>) -> Builder<'a> {
        self.channels = Some(channels);
        self
    }

    /// Sets a variable of the environment the server reads.
    pub fn env(mut self, name: &'static str, value: impl Into<String>) -> Builder<'a> {
        self.env.push((name, value.into()));
        self
    }

    /// Trusts mail servers by these certificates (PEM) too.
    pub fn mail_roots(mut self, roots: Vec<Vec<u8>>) -> Builder<'a> {
        self.mail_roots = roots;
        self
    }

    /// The resolver of host names; the machine's own unless set.
    pub fn resolver(mut self, resolver: Arc<dyn Resolver>) -> Builder<'a> {
        self.resolver = resolver;
        self
    }

    /// The compiler of plugins. With one set, the server is handed out while plugins are still compiled.
    pub fn compiler(mut self, compiler: Compiler) -> Builder<'a> {
        self.compiler = Some(compiler);
        self
    }

    pub fn limits(mut self, limits: Limits) -> Builder<'a> {
        self.limits = limits;
        self
    }

    /// The waiting times after wrong passwords and codes; the product's own unless set.
    pub fn guesses(mut self, pace: Pace) -> Builder<'a> {
        self.guesses = pace;
        self
    }

    /// Time and randomness; the machine's unless set.
    pub fn ctx(mut self, ctx: Ctx) -> Builder<'a> {
        self.ctx = ctx;
        self
    }

    /// With one fake engine that lists one torrent: the server, its administrator and the engine's id.
    pub async fn start_with_a_torrent(self) -> (TestServer, Api, String) {
        let kinds = FakeKinds::first_party();
        kinds.engine("one").put(torrent(1));
        let server = self.kinds(kinds).start().await;
        let api = server.admin();
        let config = json!({ "host": "one" });
        let engine = api.add_engine("fake", "scgi_client", config).await;
        let hash = torrent(1).hash;
        api.until_torrent(&engine, &hash, "the torrent to be listed", |_| true)
            .await;
        (server, api, engine)
    }

    pub async fn start(self) -> TestServer {
        let waits = self.compiler.is_none();
        let dir = tempfile::tempdir().expect("a temporary directory");
        let plugins_dir = dir.path().join("plugins");
        std::fs::create_dir(&plugins_dir).expect("our own directory");
        for name in &self.plugins {
            plugins::install(name, &plugins_dir);
        }
        let config = self.config(dir.path(), &plugins_dir);
        // Who names a compiler tests what it takes to compile.
        if waits {
            code::lend(dir.path());
        }
        let db = Db::open(self.db.url())
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        db.migrate().await.unwrap_or_else(|error| panic!("{error}"));
        let net = NetConfig {
            ssrf_allow_hosts: config.ssrf_allow_hosts.clone(),
            plugin_relays: config.plugin_relays.clone(),
        };
        let net = Net::with_resolver(net, self.resolver);
        let app = App::build(AppParts {
            secrets: Secrets {
                jwt_access: Secret::new(token::JWT_SECRET),
                encryption: Secret::new(token::ENCRYPTION_KEY),
                encryption_previous: Vec::new(),
            },
            ctx: self.ctx,
            net: net
                .unwrap_or_else(|error| panic!("{error}"))
                .trusting_mail(self.mail_roots),
            post: Post::alone(db.clone(), "test"),
            listener: TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                .await
                .expect("a free port on 127.0.0.1"),
            brought: Brought {
                kinds: self.kinds,
                actions: self.actions,
                channels: self.channels,
                consumers: Vec::new(),
            },
            compiler: self.compiler.unwrap_or(Compiler::InProcess),
            limits: self.limits,
            passwords: Passwords {
                hash_cost: HashCost::CHEAP,
                guesses: self.guesses,
            },
            config,
        });
        let app = app
            .await
            .unwrap_or_else(|error| panic!("the server does not start: {error}"));
        if waits {
            app.plugins().settled().await;
            code::keep(dir.path());
        }
        TestServer::run(app, db, dir).await
    }

    fn config(&self, data_dir: &Path, plugins_dir: &Path) -> Config {
        let lookup = |name: &str| -> Option<std::ffi::OsString> {
            if let Some((_, value)) = self.env.iter().find(|(key, _)| *key == name) {
                return Some(value.into());
            }
            match name {
                "HOST" => Some("127.0.0.1".into()),
                "PORT" => Some("0".into()),
                "DATA_DIR" => Some(data_dir.into()),
                "PLUGINS_DIR" => Some(plugins_dir.into()),
                "DATABASE_URL" => Some(self.db.url().into()),
                "THROTTLE_LIMIT" => Some("1000000".into()),
                "FILE_MANAGER_ROOTS" => Some(std::env::temp_dir().into()),
                "ADMIN_PASSWORD" => Some(PASSWORD.into()),
                _ => None,
            }
        };
        Config::from_lookup(&lookup).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// A running server; it ends when dropped.
pub struct TestServer {
    address: SocketAddr,
    http: Http,
    db: Db,
    hub: Hub,
    bus: Bus,
    jobs: Jobs,
    plugins: Arc<Plugins>,
    tokens: Arc<TokenService>,
    /// Ids of the seeded users, in the order of [`Role::ALL`].
    users: Vec<String>,
    dir: TempDir,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<Ending>>,
}

impl TestServer {
    pub fn builder(db: &TestDb) -> Builder<'_> {
        Builder {
            db,
            plugins: Vec::new(),
            kinds: None,
            actions: None,
            channels: None,
            env: Vec::new(),
            mail_roots: Vec::new(),
            resolver: Arc::new(SystemResolver),
            compiler: None,
            limits: Limits::default(),
            guesses: Pace::STANDARD,
            ctx: Ctx::system(),
        }
    }

    async fn run(app: App, db: Db, dir: TempDir) -> TestServer {
        let mut users = Vec::new();
        for &role in Role::ALL {
            let name = username(role);
            let user = NewUser {
                email: format!("{name}@example.org"),
                username: name,
                display_name: None,
                password: Secret::new(PASSWORD),
                roles: vec![role],
                is_system: false,
            };
            let id = match app.identity().create_user(user).await {
                Ok(id) => id,
                // Already there when a second server starts on the same database.
                Err(_) => id_of(&app, &username(role)).await,
            };
            users.push(id);
        }
        let (stop, stopped) = oneshot::channel();
        TestServer {
            address: app.address(),
            http: Http::new(),
            db,
            hub: app.hub().clone(),
            bus: app.bus().clone(),
            jobs: app.jobs().clone(),
            plugins: app.plugins().clone(),
            tokens: app.tokens().clone(),
            users,
            dir,
            stop: Some(stop),
            task: Some(tokio::spawn(app.run(async {
                // Dropping the sender stops it as well.
                let _ = stopped.await;
            }))),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn db(&self) -> &Db {
        &self.db
    }

    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The jobs of the server, to register types and to begin some.
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// Domain events from now on.
    pub fn events(&self) -> Subscription {
        self.bus.subscribe("test")
    }

    pub fn plugins(&self) -> &Arc<Plugins> {
        &self.plugins
    }

    /// `PLUGINS_DIR`.
    pub fn plugins_dir(&self) -> PathBuf {
        self.dir.path().join("plugins")
    }

    /// The API without a user.
    pub fn anonymous(&self) -> Api {
        Api::new(self.http.clone(), format!("http://{}", self.address), None)
    }

    /// The id of the seeded user of a role.
    pub fn user_id(&self, role: Role) -> &str {
        let index = Role::ALL
            .iter()
            .position(|known| *known == role)
            .expect("one of the five roles");
        &self.users[index]
    }

    /// The seeded user of a role, with a fresh token.
    pub fn user(&self, role: Role) -> Api {
        let username = username(role);
        let subject = Subject {
            user_id: self.user_id(role),
            username: &username,
            roles: &[role],
            permissions: role
                .permissions()
                .fold(PermissionSet::empty(), PermissionSet::with),
        };
        let token = self.tokens.issue(&subject).expect("claims are serialisable");
        self.anonymous().with_token(Some(token))
    }

    /// The seeded super administrator.
    pub fn admin(&self) -> Api {
        self.user(Role::SuperAdmin)
    }

    /// Ends it in order: requests finish, engines store and close.
    pub async fn end(mut self) {
        drop(self.stop.take());
        if let Some(task) = self.task.take() {
            let ending = task.await.expect("the server ends without a panic");
            assert_eq!(ending, Ending::Asked);
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // What was installed while it ran.
        code::keep(self.dir.path());
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

/// The id of a user who is there.
async fn id_of(app: &App, username: &str) -> String {
    let page = PageQuery {
        page: 1,
        page_size: 200,
    };
    let list = app.identity().users(page).await.expect("the users can be listed");
    let user = list.users.into_iter().find(|user| user.username == username);
    user.expect("the user was created by the first server").id
}

/// The name the seeded user of a role logs in with, e.g. `power_user`.
pub fn username(role: Role) -> String {
    role.name().to_lowercase()
}
