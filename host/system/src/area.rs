//! The system as an area of the service.

use std::sync::Arc;
use std::time::Instant;

use qm_confined::ServerPlaces;
use qm_kernel::Permission;
use qm_net::Net;
use qm_platform::area::{Area, AreaError, AreaSpec, ContextAction, Make, MenuEntry, Module};
use qm_platform::notification::{Audience, CardBuilder, Category, NotificationSpec, Severity};
use qm_platform::{AuditTrail, Bus, EnvEntry, Ground, Node, Ports, Sealed, SecretSettings};
use qm_plugin_host::PluginHost;
use qm_ports::EngineProbes;
use qm_realtime::Hub;

use crate::repo::configurations::SealedConfigurations;
use crate::service::configurations::PluginConfigurations;
use crate::service::health::Health;
use crate::service::health::disks::Disks;
use crate::service::metrics::Sources;
use crate::service::update::{UpdateDeps, Updates};
use crate::service::watch::{EVENTS, Watches};
use crate::{Build, System, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "system",
    events: EVENTS,
    sealed: || {
        vec![
            Arc::new(SecretSettings::declared()),
            Arc::new(SealedConfigurations),
        ]
    },
    module: "system",
    modules: &[
        Module {
            id: "audit",
            place: 30,
            name: "Audit",
            about: "Who did what, and from where.",
            needs: &["users"],
            families: &["audit."],
            menu: &[MenuEntry {
                label: "Audit",
                icon: "ScrollText",
                path: "/audit",
                permission: Permission::AuditView,
            }],
            features: &["audit"],
        },
        Module {
            id: "settings",
            place: 40,
            name: "Settings",
            about: "Settings, health, updates and installed plugins.",
            needs: &["users"],
            families: &["settings.", "system."],
            menu: &[
                MenuEntry {
                    label: "Settings",
                    icon: "Settings",
                    path: "/settings",
                    permission: Permission::SettingsView,
                },
                MenuEntry {
                    label: "System",
                    icon: "Server",
                    path: "/system",
                    permission: Permission::SystemView,
                },
            ],
            features: &["settings", "health", "updates", "plugins", "realtime"],
        },
    ],
    context_actions: &[],
    notifications: NOTIFICATIONS,
    described: || routes().described(),
    after: &["torrents"],
    make: Make::Plain(make),
};

const WATCHERS: Audience = Audience::holders(Permission::SystemView);

/// Events that people can be told of.
const NOTIFICATIONS: &[NotificationSpec] = &[
    NotificationSpec::new(
        ("system.storage_warning", 60),
        (Category::Storage, Severity::Warning),
        WATCHERS,
        CardBuilder::Storage,
    ),
    NotificationSpec::new(
        ("system.storage_critical", 70),
        (Category::Storage, Severity::Error),
        WATCHERS,
        CardBuilder::Storage,
    ),
    NotificationSpec::new(
        ("system.storage_recovered", 80),
        (Category::Storage, Severity::Success),
        WATCHERS,
        CardBuilder::Storage,
    ),
    NotificationSpec::new(
        ("provider.offline", 90),
        (Category::Providers, Severity::Error),
        WATCHERS,
        CardBuilder::Provider,
    ),
    NotificationSpec::new(
        ("provider.recovered", 100),
        (Category::Providers, Severity::Success),
        WATCHERS,
        CardBuilder::Provider,
    ),
];

/// Parts of the server that its routes show, and no area offers.
#[derive(Clone)]
pub struct SystemParts {
    pub plugins: Arc<PluginHost>,
    /// Settings that administrators enter for plugins.
    pub configurations: PluginConfigurations,
    pub bus: Bus,
    pub node: Node,
    /// Stored secrets of every area.
    pub sealed: Sealed,
    /// Entries of the clients' menu, in the order in which they are drawn.
    pub modules: Arc<[&'static Module]>,
    /// Actions on things that people choose, of every area.
    pub context_actions: Arc<[&'static ContextAction]>,
    /// Variables that the server reads, with the values it found.
    pub environment: Arc<[EnvEntry]>,
    /// Name that the server was started with.
    pub product: Arc<str>,
    pub build: Build,
    /// Start of the process.
    pub started: Instant,
    /// `UPDATE_CHECK_URL`
    pub update_url: Option<String>,
}

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let parts = ports.get::<SystemParts>()?;
    let (hub, engines) = (ports.get::<Hub>()?, ports.get::<Arc<dyn EngineProbes>>()?);
    let disks = Disks::new(&ports.get::<ServerPlaces>()?.roots);
    let sources = Sources {
        db: ground.db.clone(),
        bus: parts.bus,
        hub,
        plugins: parts.plugins.clone(),
        build: parts.build,
        started: parts.started,
    };
    sources.register(&ground.metrics)?;
    let watches = Watches {
        disks: disks.clone(),
        engines: engines.clone(),
        db: ground.db.clone(),
        ctx: ground.ctx.clone(),
    };
    let updates = Updates::new(UpdateDeps {
        ground: ground.clone(),
        net: ports.get::<Net>()?,
        url: parts.update_url,
        current: parts.build.version,
    });
    let looking = updates.clone();
    let mut area = area(System {
        health: Health {
            engines,
            plugins: parts.plugins.clone(),
            disks,
            sealed: parts.sealed,
            started: parts.started,
        },
        trail: AuditTrail::new(ground.db.clone(), ground.ctx.clone()),
        db: ground.db.clone(),
        acting: ground.acting.clone(),
        audit: ground.audit.clone(),
        settings: ground.settings.clone(),
        modules: parts.modules,
        context_actions: parts.context_actions,
        environment: parts.environment,
        plugins: parts.plugins,
        configurations: parts.configurations,
        ctx: ground.ctx.clone(),
        product: parts.product,
        build: parts.build,
        started: parts.started,
        updates,
        metrics: ground.metrics.clone(),
        node: parts.node,
    });
    area.loops
        .push(Box::new(move |background| watches.start(background)));
    area.loops
        .push(Box::new(move |background| looking.start(background)));
    Ok(area)
}

/// Area with its routes.
fn area(system: System) -> Area {
    Area::new(&AREA, routes().with_state(system))
}
