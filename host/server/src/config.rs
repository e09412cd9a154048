//! Configuration: environment variables and nothing else, read once at start.
//!
//! An empty variable counts as unset. A value that cannot be read stops the start with one line that names the
//! variable, the value (unless it is a secret) and the way out; no value is ever silently replaced by a default.

mod read;
mod variables;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use qm_identity::FirstAdmin;
use qm_kernel::Secret;
use qm_metadata::EnvironmentKeys;
use qm_platform::EnvEntry;

pub use read::ConfigError;
use read::Reader;
pub use variables::{VARIABLES, Variable, document};

/// Everything an operator can set. Defaults are those of the table in `docs/operate.md`.
#[derive(Clone, Debug)]
pub struct Config {
    /// `HOST` and `PORT`; port 0 takes a free one.
    pub listen: SocketAddr,
    /// `NODE_ENV=production`: weak secrets refuse the start, and the API documentation is not served.
    pub production: bool,
    /// `DATA_DIR`: database, generated secrets, compiled plugins.
    pub data_dir: PathBuf,
    /// `PLUGINS_DIR`: every `*.wasm` in it is loaded.
    pub plugins_dir: PathBuf,
    /// `DATABASE_URL`; a password may stand in it.
    pub database_url: Secret,
    /// `THROTTLE_LIMIT`: hits a route and address may make in 60 s.
    pub throttle_limit: u32,
    /// `TRUSTED_PROXIES`: 1 = the last entry of `X-Forwarded-For` is the client, 0 = the socket's peer is.
    pub trusted_proxies: u8,
    /// `CORS_ORIGIN`
    pub cors_origins: Vec<String>,
    /// `FILE_MANAGER_ROOTS`, absolute paths.
    pub file_roots: Vec<String>,
    /// `SSRF_ALLOW_HOSTS`: host names, addresses and IPv4 ranges that the URL guard lets through.
    pub ssrf_allow_hosts: Vec<String>,
    /// `PLUGIN_RELAYS`: addresses to which requests for plugins' own hosts are sent instead.
    pub plugin_relays: Vec<String>,
    /// `UPDATE_CHECK_URL`: a list of tags as a JSON array of objects with a `name`; without it nobody is asked.
    pub update_check_url: Option<String>,
    /// `NODE_NAME`: name of this server among those of its database.
    pub node_name: Option<String>,
    /// `PROVIDER_A_API_KEY`, `PROVIDER_B_API_KEY`, `PROVIDER_B_PIN`, `OMDB_API_KEY`: keys for providers of metadata where
    /// the settings have none.
    pub provider_keys: EnvironmentKeys,
    pub secrets: SuppliedSecrets,
    /// `JWT_ACCESS_TTL`
    pub access_ttl: Duration,
    /// `JWT_REFRESH_TTL_DAYS`
    pub refresh_ttl: Duration,
    /// `ADMIN_USERNAME`, `ADMIN_EMAIL`, `ADMIN_PASSWORD`
    pub admin: FirstAdmin,
    pub log: LogConfig,
    /// Every variable with its value, without secrets: for the settings page.
    pub environment: Vec<EnvEntry>,
}

/// Secrets from the environment; outside production, missing ones are generated.
#[derive(Clone, Debug, Default)]
pub struct SuppliedSecrets {
    /// `JWT_ACCESS_SECRET`
    pub jwt_access: Option<Secret>,
    /// `ENCRYPTION_KEY`
    pub encryption: Option<Secret>,
    /// `ENCRYPTION_KEY_PREVIOUS`: keys that older stored values may still be encrypted with.
    pub encryption_previous: Vec<Secret>,
}

/// Logging of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// `LOG_FORMAT`
    pub format: LogFormat,
    /// `RUST_LOG`
    pub filter: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For a person.
    Pretty,
    /// One JSON object a line.
    Json,
}

const DEFAULT_PORT: u16 = 4000;
const DEFAULT_FILTER: &str = "info,sqlx=warn,wasmtime=warn,cranelift=warn,hyper=warn,reqwest=warn";
const DATABASE_FILE: &str = "quartermaster.db";
/// Least characters of a password, the same as for every route that takes a new one.
pub const MIN_PASSWORD: usize = 10;
pub const MAX_PASSWORD: usize = 256;
const DAY: Duration = Duration::from_hours(24);
/// Longest lifetime of a token: far beyond any use, and far from overflowing an instant.
const LONGEST_TTL: Duration = Duration::from_hours(10 * 365 * 24);

impl Config {
    /// Reads the process environment.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_lookup(&|name| std::env::var_os(name))
    }

    /// Reads variables from `lookup`; tests pass a table.
    pub fn from_lookup(lookup: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Result<Self, ConfigError> {
        let mut config = Self::read(lookup)?;
        config.environment = variables::environment(lookup);
        Ok(config)
    }

    fn read(lookup: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Result<Self, ConfigError> {
        let reader = Reader::new(lookup);
        let data_dir = reader.path("DATA_DIR").unwrap_or_else(|| PathBuf::from("./data"));
        Ok(Self {
            listen: SocketAddr::new(host(&reader)?, port(&reader)?),
            production: reader.text("NODE_ENV")?.as_deref() == Some("production"),
            plugins_dir: reader
                .path("PLUGINS_DIR")
                .unwrap_or_else(|| PathBuf::from("./plugins")),
            database_url: database_url(&reader, &data_dir)?,
            data_dir,
            throttle_limit: throttle_limit(&reader)?,
            trusted_proxies: trusted_proxies(&reader)?,
            cors_origins: cors_origins(&reader)?,
            file_roots: file_roots(&reader)?,
            ssrf_allow_hosts: reader.list("SSRF_ALLOW_HOSTS")?.unwrap_or_default(),
            plugin_relays: reader.list("PLUGIN_RELAYS")?.unwrap_or_default(),
            update_check_url: update_check_url(&reader)?,
            node_name: node_name(&reader)?,
            provider_keys: EnvironmentKeys {
                provider_a: reader.secret("PROVIDER_A_API_KEY")?,
                provider_b: reader.secret("PROVIDER_B_API_KEY")?,
                provider_b_pin: reader.secret("PROVIDER_B_PIN")?,
                omdb: reader.secret("OMDB_API_KEY")?,
            },
            secrets: SuppliedSecrets {
                jwt_access: reader.secret("JWT_ACCESS_SECRET")?,
                encryption: reader.secret("ENCRYPTION_KEY")?,
                encryption_previous: reader.secret_list("ENCRYPTION_KEY_PREVIOUS")?,
            },
            access_ttl: access_ttl(&reader)?,
            refresh_ttl: refresh_ttl(&reader)?,
            admin: admin(&reader)?,
            log: LogConfig {
                format: log_format(&reader)?,
                filter: log_filter(&reader)?,
            },
            environment: Vec::new(),
        })
    }
}

fn host(reader: &Reader<'_>) -> Result<IpAddr, ConfigError> {
    reader
        .parsed(
            "HOST",
            "an IP address to listen on, e.g. 127.0.0.1 or 0.0.0.0",
            |text| match text {
                "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
                text => text.trim_start_matches('[').trim_end_matches(']').parse().ok(),
            },
        )
        .map(|host| host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)))
}

fn port(reader: &Reader<'_>) -> Result<u16, ConfigError> {
    let port = reader.parsed("PORT", "a port number from 0 (any free one) to 65535", |text| {
        text.parse().ok()
    })?;
    Ok(port.unwrap_or(DEFAULT_PORT))
}

/// `sqlite:` with a path, or a PostgreSQL URL. The default is a file in the data directory.
fn database_url(reader: &Reader<'_>, data_dir: &std::path::Path) -> Result<Secret, ConfigError> {
    const EXPECTED: &str = "sqlite:/path/to/file.db or postgres://user:password@host/database";
    match reader.secret("DATABASE_URL")? {
        Some(url) => {
            let known = ["sqlite:", "postgres://", "postgresql://"];
            let good = known
                .iter()
                .any(|scheme| url.expose().len() > scheme.len() && url.expose().starts_with(scheme));
            if good {
                Ok(url)
            } else {
                Err(ConfigError::secret("DATABASE_URL", EXPECTED))
            }
        }
        None => Ok(Secret::new(format!(
            "sqlite:{}",
            data_dir.join(DATABASE_FILE).display()
        ))),
    }
}

fn throttle_limit(reader: &Reader<'_>) -> Result<u32, ConfigError> {
    let limit = reader.parsed(
        "THROTTLE_LIMIT",
        "requests a minute for each route and address, 1 or more",
        |text| text.parse().ok().filter(|limit| *limit >= 1),
    )?;
    Ok(limit.unwrap_or(120))
}

fn trusted_proxies(reader: &Reader<'_>) -> Result<u8, ConfigError> {
    let expected = "1 (behind exactly one reverse proxy) or 0 (exposed directly)";
    let count = reader.parsed("TRUSTED_PROXIES", expected, |text| match text {
        "0" => Some(0),
        "1" => Some(1),
        _ => None,
    })?;
    Ok(count.unwrap_or(1))
}

/// Origins are compared as exact text, so one that could never match is refused here.
fn cors_origins(reader: &Reader<'_>) -> Result<Vec<String>, ConfigError> {
    let origins = reader
        .list("CORS_ORIGIN")?
        .unwrap_or_else(|| vec!["http://localhost:5173".to_owned()]);
    for origin in &origins {
        let host = origin.split_once("://").map(|(_, host)| host);
        if !host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '*', ' ', '?', '#'])) {
            let expected =
                "origins separated by commas, each scheme://host or scheme://host:port, no path, no *";
            return Err(ConfigError::value("CORS_ORIGIN", origin, expected));
        }
    }
    Ok(origins)
}

fn file_roots(reader: &Reader<'_>) -> Result<Vec<String>, ConfigError> {
    let roots = reader
        .list("FILE_MANAGER_ROOTS")?
        .unwrap_or_else(|| vec!["/downloads".to_owned()]);
    match roots.iter().find(|root| !root.starts_with('/')) {
        Some(root) => Err(ConfigError::value(
            "FILE_MANAGER_ROOTS",
            root,
            "absolute paths separated by commas",
        )),
        None => Ok(roots),
    }
}

/// Name of this node. A standby shows it to every client that it redirects.
fn node_name(reader: &Reader<'_>) -> Result<Option<String>, ConfigError> {
    let expected = "a name of at most 64 letters, digits and the characters . _ : -";
    reader.parsed("NODE_NAME", expected, |text| {
        let good = |c: char| c.is_alphanumeric() || "._:-".contains(c);
        (text.chars().count() <= 64 && text.chars().all(good)).then(|| text.to_owned())
    })
}

/// URL of the update check. Administrators see it, so it may hold no password.
fn update_check_url(reader: &Reader<'_>) -> Result<Option<String>, ConfigError> {
    let expected = "the http(s) URL of a list of tags, without user and password";
    reader.parsed("UPDATE_CHECK_URL", expected, |text| {
        let url = url::Url::parse(text).ok()?;
        let plain = url.username().is_empty() && url.password().is_none();
        (plain && matches!(url.scheme(), "http" | "https")).then(|| text.to_owned())
    })
}

fn access_ttl(reader: &Reader<'_>) -> Result<Duration, ConfigError> {
    let expected = "a number and a unit s, m, h or d, e.g. 15m";
    Ok(reader
        .parsed("JWT_ACCESS_TTL", expected, parse_ttl)?
        .unwrap_or(Duration::from_mins(15)))
}

/// Warnings about values that are allowed, but unwise.
pub(crate) fn warnings(config: &Config) -> Vec<String> {
    let mut warnings = Vec::new();
    if config.access_ttl > DAY {
        let hours = config.access_ttl.as_secs() / 3600;
        warnings.push(format!(
            "JWT_ACCESS_TTL lets an access token live for {hours} hours: so long somebody who was deactivated or demoted may \
             still read what the token allows; 15m is usual, and clients refresh by themselves"
        ));
    }
    warnings
}

/// Duration such as `15m`. A bare number is refused, as its unit is not clear.
fn parse_ttl(text: &str) -> Option<Duration> {
    let unit = text.chars().next_back()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        _ => return None,
    };
    let number = &text[..text.len() - unit.len_utf8()];
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let ttl = Duration::from_secs(number.parse::<u64>().ok()?.checked_mul(seconds)?);
    (!ttl.is_zero() && ttl <= LONGEST_TTL).then_some(ttl)
}

fn refresh_ttl(reader: &Reader<'_>) -> Result<Duration, ConfigError> {
    let days = reader.parsed(
        "JWT_REFRESH_TTL_DAYS",
        "a whole number of days from 1 to 3650",
        |text| text.parse::<u32>().ok().filter(|days| (1..=3650).contains(days)),
    )?;
    Ok(DAY * days.unwrap_or(30))
}

fn admin(reader: &Reader<'_>) -> Result<FirstAdmin, ConfigError> {
    let username = reader.parsed(
        "ADMIN_USERNAME",
        "a user name of at most 120 characters",
        |text| (text.chars().count() <= 120).then(|| text.to_owned()),
    )?;
    let email = reader.parsed("ADMIN_EMAIL", "an email address", |text| {
        let parts = text.split_once('@');
        parts
            .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
            .then(|| text.to_owned())
    })?;
    let password = reader.secret("ADMIN_PASSWORD")?;
    let length = password
        .as_ref()
        .map(|password| password.expose().chars().count());
    if length.is_some_and(|length| !(MIN_PASSWORD..=MAX_PASSWORD).contains(&length)) {
        return Err(ConfigError::secret(
            "ADMIN_PASSWORD",
            "10 to 256 characters, or unset it to have one generated",
        ));
    }
    Ok(FirstAdmin {
        username: username.unwrap_or_else(|| "admin".to_owned()),
        email: email.unwrap_or_else(|| "admin@quartermaster.local".to_owned()),
        password,
    })
}

fn log_format(reader: &Reader<'_>) -> Result<LogFormat, ConfigError> {
    let format = reader.parsed("LOG_FORMAT", "json or pretty", |text| match text {
        "json" => Some(LogFormat::Json),
        "pretty" => Some(LogFormat::Pretty),
        _ => None,
    })?;
    Ok(format.unwrap_or(LogFormat::Pretty))
}

fn log_filter(reader: &Reader<'_>) -> Result<String, ConfigError> {
    let filter = reader.parsed(
        "RUST_LOG",
        "log directives, e.g. info or info,qm_engines=debug",
        |text| {
            tracing_subscriber::EnvFilter::try_new(text)
                .ok()
                .map(|_| text.to_owned())
        },
    )?;
    Ok(filter.unwrap_or_else(|| DEFAULT_FILTER.to_owned()))
}

#[cfg(test)]
mod tests;
