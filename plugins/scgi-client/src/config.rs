//! Address of rTorrent, as the operator entered it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use scgi_core::Endpoint;
use sdk_engine::{Config, PluginError};

pub const SCHEMA: &str = include_str!("config.schema.json");

const DEFAULT_PORT: u16 = 5000;
const DEFAULT_IDLE_MS: u64 = 15_000;
/// Shorter is a slip of the keyboard, longer is no bound any more.
const IDLE_MS: std::ops::RangeInclusive<u64> = 100..=600_000;

/// Configuration that the operator entered.
pub struct Settings {
    pub endpoint: Endpoint,
    /// The `Authorization` of each request, where a web server asks for one.
    pub authorization: Option<String>,
    /// Time for which rTorrent may be silent, in milliseconds.
    pub idle_ms: u32,
}

pub fn read(config: &str) -> Result<Settings, PluginError> {
    let config = Config::parse(config)?;
    let needed = |name: &str, mode: &str| {
        let missing = || PluginError::InvalidConfig(format!("`{name}` is needed with mode {mode}"));
        config.text(name).map(str::to_owned).ok_or_else(missing)
    };
    let endpoint = match config.text("mode").unwrap_or("scgi-tcp") {
        mode @ "scgi-tcp" => Endpoint::Tcp {
            host: needed("host", mode)?,
            port: config.port("port")?.unwrap_or(DEFAULT_PORT),
        },
        mode @ "scgi-unix" => Endpoint::Unix {
            path: needed("socketPath", mode)?,
        },
        mode @ "http" => Endpoint::Http {
            url: plain(needed("url", mode)?)?,
        },
        _ => {
            return Err(PluginError::InvalidConfig(
                "`mode` must be scgi-tcp, scgi-unix or http".to_owned(),
            ));
        }
    };
    let idle_ms = config
        .number("timeoutMs")?
        .unwrap_or(DEFAULT_IDLE_MS)
        .clamp(*IDLE_MS.start(), *IDLE_MS.end());
    let username = config
        .text("username")
        .filter(|_| matches!(endpoint, Endpoint::Http { .. }));
    let authorization = username.map(|username| {
        let pair = format!("{username}:{}", config.text("password").unwrap_or_default());
        format!("Basic {}", BASE64_STANDARD.encode(pair))
    });
    Ok(Settings {
        endpoint,
        authorization,
        idle_ms: u32::try_from(idle_ms).unwrap_or(u32::MAX),
    })
}

/// A URL is shown to whoever may see engines.
fn plain(url: String) -> Result<String, PluginError> {
    let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    if rest
        .split(['/', '?', '#'])
        .next()
        .is_some_and(|authority| authority.contains('@'))
    {
        return Err(PluginError::InvalidConfig(
            "`url` must not hold a user name or a password: enter them as `username` and `password`"
                .to_owned(),
        ));
    }
    Ok(url)
}
