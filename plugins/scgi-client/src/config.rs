//! Where rTorrent is, as the operator entered it.

use scgi_core::Endpoint;
use sdk::{Config, PluginError};

pub const SCHEMA: &str = include_str!("config.schema.json");

const DEFAULT_PORT: u16 = 5000;
const DEFAULT_IDLE_MS: u64 = 15_000;
/// Shorter is a slip of the keyboard, longer is no bound any more.
const IDLE_MS: std::ops::RangeInclusive<u64> = 100..=600_000;

/// The endpoint, and how long it may be silent.
pub fn read(config: &str) -> Result<(Endpoint, u32), PluginError> {
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
            url: needed("url", mode)?,
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
    Ok((endpoint, u32::try_from(idle_ms).unwrap_or(u32::MAX)))
}
