//! Metrics of the server in the Prometheus text format.
//!
//! Areas with their own counters register with the server's [`Registry`]. Numbers that exist elsewhere (event
//! bus, realtime channel, plugins, database pools, process) are read here at each scrape, so that they cost
//! nothing in between. Bounds: labels are names of our own, ids of plugins and of configured engines; never
//! values from requests.

use std::sync::Arc;
use std::time::Instant;

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{CounterVec, GaugeVec, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder};
use qm_db::Db;
use qm_platform::Bus;
use qm_plugin_host::{LaneState, PluginHost, PluginStatus};
use qm_realtime::Hub;

use crate::dto::Build;
use crate::service::health::process::Process;

/// Content type of the metrics.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics of `registry` in the text format.
pub fn render(registry: &Registry) -> Result<String, prometheus::Error> {
    TextEncoder::new().encode_to_string(&registry.gather())
}

/// Sources of the metrics that are read at each scrape.
#[derive(Clone)]
pub struct Sources {
    pub db: Db,
    pub bus: Bus,
    pub hub: Hub,
    pub plugins: Arc<PluginHost>,
    pub build: Build,
    /// Start of the process.
    pub started: Instant,
}

impl Sources {
    pub fn register(self, registry: &Registry) -> Result<(), prometheus::Error> {
        let described = self.families()?;
        let descs = described
            .iter()
            .flat_map(|family| family.desc())
            .cloned()
            .collect();
        registry.register(Box::new(OnDemand { sources: self, descs }))
    }

    fn families(&self) -> Result<Families, prometheus::Error> {
        let mut families = Families::new();
        self.process(&mut families)?;
        self.database(&mut families)?;
        self.events(&mut families)?;
        self.realtime(&mut families)?;
        self.plugins(&mut families)?;
        lanes(&mut families)?;
        Ok(families)
    }

    fn process(&self, to: &mut Families) -> Result<(), prometheus::Error> {
        let process = Process::read();
        let build = &self.build;
        let facts = [
            build.version,
            build.git_sha.unwrap_or(""),
            build.compiler.unwrap_or(""),
        ];
        gauges(
            to,
            "quartermaster_build_info",
            "What runs; always 1.",
            &["version", "revision", "compiler"],
            &[(&facts, 1)],
        )?;
        let uptime = self.started.elapsed().as_secs_f64();
        let name = "quartermaster_uptime_seconds";
        float_gauge(to, name, "Seconds since the server started.", uptime)?;
        let resident = process.resident_bytes;
        let name = "process_resident_memory_bytes";
        gauges(to, name, "Memory in use.", &[], &[(&[], resident)])?;
        let name = "process_open_fds";
        gauges(
            to,
            name,
            "Open files and connections.",
            &[],
            &[(&[], process.descriptors)],
        )?;
        gauges(to, "process_threads", "Threads.", &[], &[(&[], process.threads)])?;
        let seconds = CounterVec::new(
            Opts::new(
                "process_cpu_seconds_total",
                "Seconds of computing, over all threads.",
            ),
            &[],
        )?;
        seconds.with_label_values::<&str>(&[]).inc_by(process.cpu_seconds);
        to.push(Box::new(seconds));
        Ok(())
    }

    fn database(&self, to: &mut Families) -> Result<(), prometheus::Error> {
        let pools = self.db.pools();
        let rows: Vec<_> = pools
            .iter()
            .flat_map(|pool| {
                [
                    ([pool.name, "idle"], u64::from(pool.idle)),
                    (
                        [pool.name, "used"],
                        u64::from(pool.open.saturating_sub(pool.idle)),
                    ),
                ]
            })
            .collect();
        let rows: Vec<Row<'_>> = rows.iter().map(|(labels, value)| (&labels[..], *value)).collect();
        gauges(
            to,
            "quartermaster_database_connections",
            "Connections to the database by pool, and whether somebody uses them.",
            &["pool", "state"],
            &rows,
        )?;
        let limits: Vec<_> = pools
            .iter()
            .map(|pool| ([pool.name], u64::from(pool.most)))
            .collect();
        let rows: Vec<Row<'_>> = limits
            .iter()
            .map(|(labels, value)| (&labels[..], *value))
            .collect();
        let help = "The most connections a pool opens.";
        gauges(
            to,
            "quartermaster_database_connections_max",
            help,
            &["pool"],
            &rows,
        )
    }

    fn events(&self, to: &mut Families) -> Result<(), prometheus::Error> {
        let counts = self.bus.counts();
        counters(
            to,
            "quartermaster_events_total",
            "Domain events by what became of them; `lost` counts each subscriber that was too far behind.",
            &["outcome"],
            &[
                (&["published"], counts.published),
                (&["refused"], counts.refused),
                (&["repeated"], counts.repeated),
                (&["lost"], counts.lost),
            ],
        )
    }

    fn realtime(&self, to: &mut Families) -> Result<(), prometheus::Error> {
        let counts = self.hub.counters();
        gauges(
            to,
            "quartermaster_realtime_sockets",
            "Connected sockets; `waiting` ones have brought no token yet.",
            &["state"],
            &[
                (&["authenticated"], counts.authenticated),
                (&["waiting"], counts.sockets.saturating_sub(counts.authenticated)),
            ],
        )?;
        let name = "quartermaster_realtime_queued_messages";
        let help = "Messages that wait for a socket to take them.";
        gauges(to, name, help, &[], &[(&[], counts.queued_frames)])?;
        let name = "quartermaster_realtime_queued_bytes";
        gauges(
            to,
            name,
            "Bytes that wait for a socket to take them.",
            &[],
            &[(&[], counts.queued_bytes)],
        )?;
        for (name, help, value) in [
            ("sent_messages", "Messages sent.", counts.sent_frames),
            ("sent_bytes", "Bytes sent.", counts.sent_bytes),
            (
                "dropped",
                "Messages dropped because a socket's queue was full.",
                counts.dropped,
            ),
            (
                "resyncs",
                "Whole states sent because a socket had missed a part.",
                counts.resyncs,
            ),
            ("refused", "Connections refused.", counts.refused),
            (
                "stalled",
                "Sockets closed because they took nothing.",
                counts.stalled,
            ),
        ] {
            let name = format!("quartermaster_realtime_{name}_total");
            counters(to, &name, help, &[], &[(&[], value)])?;
        }
        Ok(())
    }

    fn plugins(&self, to: &mut Families) -> Result<(), prometheus::Error> {
        let plugins = self.plugins.list();
        let by_plugin: [(&str, &str, fn(&PluginStatus) -> u64); 5] = [
            ("calls", "Calls of plugins.", |plugin| plugin.calls),
            ("traps", "Calls of plugins that ended in a trap.", |plugin| {
                plugin.traps
            }),
            (
                "timeouts",
                "Calls of plugins cut off by their deadline.",
                |plugin| plugin.timeouts,
            ),
            (
                "restarts",
                "Instances made to replace one that failed.",
                |plugin| plugin.restarts,
            ),
            (
                "log_dropped",
                "Lines of plugins' logs dropped as a flood.",
                |plugin| plugin.log_dropped,
            ),
        ];
        for (name, help, value) in by_plugin {
            let rows: Vec<_> = plugins
                .iter()
                .map(|plugin| ([&*plugin.id], value(plugin)))
                .collect();
            let rows: Vec<Row<'_>> = rows.iter().map(|(labels, value)| (&labels[..], *value)).collect();
            counters(
                to,
                &format!("quartermaster_plugin_{name}_total"),
                help,
                &["plugin"],
                &rows,
            )?;
        }
        let lanes = plugins.iter().flat_map(|plugin| {
            let of = |lane| (&*plugin.id, lane);
            plugin.lanes.iter().map(of)
        });
        let lanes: Vec<_> = lanes
            .map(|(plugin, lane)| {
                let parked = u64::from(lane.state == LaneState::Parked);
                ([plugin, &*lane.owner, &*lane.lane], lane.memory_bytes, parked)
            })
            .collect();
        let labels = ["plugin", "engine", "lane"];
        let memory: Vec<Row<'_>> = lanes
            .iter()
            .map(|(labels, bytes, _)| (&labels[..], *bytes))
            .collect();
        let name = "quartermaster_plugin_memory_bytes";
        gauges(to, name, "Memory of a plugin's instance.", &labels, &memory)?;
        let parked: Vec<Row<'_>> = lanes
            .iter()
            .map(|(labels, _, parked)| (&labels[..], *parked))
            .collect();
        let help = "1: the instance failed too often and is not restarted by itself.";
        gauges(to, "quartermaster_plugin_parked", help, &labels, &parked)
    }
}

/// Metrics of the lanes for blocking work.
fn lanes(to: &mut Families) -> Result<(), prometheus::Error> {
    let lanes = qm_lanes::counts();
    let labels: Vec<[&str; 1]> = lanes.iter().map(|lane| [lane.lane]).collect();
    let rows = |value: fn(&qm_lanes::Count) -> u64| -> Vec<Row<'_>> {
        let values = lanes.iter().map(value);
        labels.iter().map(|label| &label[..]).zip(values).collect()
    };
    let running = rows(|lane| lane.running as u64);
    let help = "Pieces of work that run in a lane, or hang there.";
    gauges(to, "quartermaster_lane_running", help, &["lane"], &running)?;
    let waiting = rows(|lane| lane.waiting as u64);
    let help = "Pieces of work that wait for a place in a lane.";
    gauges(to, "quartermaster_lane_waiting", help, &["lane"], &waiting)?;
    let refused = rows(|lane| lane.refused);
    let help = "Pieces of work that a lane refused, for it was full.";
    counters(to, "quartermaster_lane_refused_total", help, &["lane"], &refused)
}

type Families = Vec<Box<dyn Collector>>;
/// Values of the labels, and value of the metric.
type Row<'a> = (&'a [&'a str], u64);

fn counters(
    to: &mut Families,
    name: &str,
    help: &str,
    labels: &[&str],
    rows: &[Row<'_>],
) -> Result<(), prometheus::Error> {
    let family = IntCounterVec::new(Opts::new(name, help), labels)?;
    for (values, value) in rows {
        family.get_metric_with_label_values(values)?.inc_by(*value);
    }
    to.push(Box::new(family));
    Ok(())
}

fn gauges(
    to: &mut Families,
    name: &str,
    help: &str,
    labels: &[&str],
    rows: &[Row<'_>],
) -> Result<(), prometheus::Error> {
    let family = IntGaugeVec::new(Opts::new(name, help), labels)?;
    for (values, value) in rows {
        let value = i64::try_from(*value).unwrap_or(i64::MAX);
        family.get_metric_with_label_values(values)?.set(value);
    }
    to.push(Box::new(family));
    Ok(())
}

fn float_gauge(to: &mut Families, name: &str, help: &str, value: f64) -> Result<(), prometheus::Error> {
    let family = GaugeVec::new(Opts::new(name, help), &[])?;
    family.with_label_values::<&str>(&[]).set(value);
    to.push(Box::new(family));
    Ok(())
}

/// Collector that builds its families at each scrape, so that removed engines and plugins disappear.
struct OnDemand {
    sources: Sources,
    descs: Vec<Desc>,
}

impl Collector for OnDemand {
    fn desc(&self) -> Vec<&Desc> {
        self.descs.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        match self.sources.families() {
            Ok(families) => families.iter().flat_map(|family| family.collect()).collect(),
            Err(error) => {
                tracing::error!(%error, "some metrics cannot be shown");
                Vec::new()
            }
        }
    }
}
