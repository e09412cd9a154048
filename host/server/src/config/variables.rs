//! Every variable the server reads: one table for the settings page, for `docs/settings.md`, and for the tests that
//! hold it against what [`Config`](super::Config) asks for and falls back to.

use std::ffi::OsString;
use std::fmt::Write as _;

use qm_platform::EnvEntry;

/// A variable of the environment.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    pub name: &'static str,
    pub group: &'static str,
    pub label: &'static str,
    /// One sentence; where there is no fixed default it says what holds instead.
    pub about: &'static str,
    pub default: Option<&'static str>,
    pub secret: bool,
}

const RUNTIME: &str = "Runtime";
const DATABASE: &str = "Database & cache";
const SECURITY: &str = "Security";
const STORAGE: &str = "Storage & files";
const NETWORK: &str = "Network";
const SEED_ADMIN: &str = "Seed admin";

const fn variable(
    group: &'static str,
    name: &'static str,
    label: &'static str,
    default: Option<&'static str>,
    about: &'static str,
) -> Variable {
    Variable {
        name,
        group,
        label,
        about,
        default,
        secret: false,
    }
}

const fn secret(
    group: &'static str,
    name: &'static str,
    label: &'static str,
    about: &'static str,
) -> Variable {
    Variable {
        name,
        group,
        label,
        about,
        default: None,
        secret: true,
    }
}

/// Group by group.
pub const VARIABLES: &[Variable] = &[
    variable(
        RUNTIME,
        "NODE_ENV",
        "Mode",
        None,
        "With `production` weak secrets refuse the start, and the API documentation is not served.",
    ),
    variable(
        RUNTIME,
        "HOST",
        "Address",
        Some("127.0.0.1"),
        "The IP address to listen on.",
    ),
    variable(
        RUNTIME,
        "PORT",
        "Port",
        Some("4000"),
        "The port to listen on; 0 takes a free one.",
    ),
    variable(
        RUNTIME,
        "CORS_ORIGIN",
        "Allowed origins",
        Some("http://localhost:5173"),
        "Origins whose pages may call the API, separated by commas.",
    ),
    variable(
        RUNTIME,
        "TRUSTED_PROXIES",
        "Trusted proxies",
        Some("1"),
        "1 behind exactly one reverse proxy, whose X-Forwarded-For is believed; 0 when exposed directly.",
    ),
    variable(
        RUNTIME,
        "THROTTLE_LIMIT",
        "Request budget",
        Some("120"),
        "Requests a minute for each route and address.",
    ),
    variable(
        RUNTIME,
        "LOG_FORMAT",
        "Log format",
        Some("pretty"),
        "`pretty` for a person, `json` for a machine.",
    ),
    variable(
        RUNTIME,
        "RUST_LOG",
        "Log filter",
        Some(super::DEFAULT_FILTER),
        "What is logged, as directives of level by module.",
    ),
    variable(
        RUNTIME,
        "UPDATE_CHECK_URL",
        "Update check",
        None,
        "A list of tags as a JSON array of objects with a `name`; without it nobody is asked.",
    ),
    secret(
        DATABASE,
        "DATABASE_URL",
        "Database",
        "`sqlite:/path/to/file.db` or `postgres://user:password@host/database`; without it quartermaster.db in DATA_DIR.",
    ),
    variable(
        DATABASE,
        "NODE_NAME",
        "Node",
        None,
        "The server's name among those on one PostgreSQL, which a standby tells everybody; without it the machine's name and the port.",
    ),
    secret(
        SECURITY,
        "JWT_ACCESS_SECRET",
        "Signing key",
        "Signs access tokens, at least 32 characters; outside production one is generated and kept in DATA_DIR.",
    ),
    secret(
        SECURITY,
        "ENCRYPTION_KEY",
        "Encryption key",
        "Encrypts stored secrets, at least 32 characters; outside production one is generated and kept in DATA_DIR.",
    ),
    secret(
        SECURITY,
        "ENCRYPTION_KEY_PREVIOUS",
        "Earlier encryption keys",
        "Keys that stored secrets may still be encrypted with, separated by commas.",
    ),
    variable(
        SECURITY,
        "JWT_ACCESS_TTL",
        "Access token lifetime",
        Some("15m"),
        "A number and a unit: s, m, h or d.",
    ),
    variable(
        SECURITY,
        "JWT_REFRESH_TTL_DAYS",
        "Refresh token lifetime",
        Some("30"),
        "Days that a session lasts without being used.",
    ),
    variable(
        STORAGE,
        "DATA_DIR",
        "Data directory",
        Some("./data"),
        "Where the database, generated secrets, backups and compiled plugins are.",
    ),
    variable(
        STORAGE,
        "PLUGINS_DIR",
        "Plugins directory",
        Some("./plugins"),
        "Every `*.wasm` file in it is loaded.",
    ),
    variable(
        STORAGE,
        "FILE_MANAGER_ROOTS",
        "File roots",
        Some("/downloads"),
        "Absolute paths separated by commas; nothing outside them is ever touched.",
    ),
    variable(
        NETWORK,
        "SSRF_ALLOW_HOSTS",
        "Private hosts",
        None,
        "Host names, addresses and IPv4 ranges of private networks that links of users and feeds may lead to, \
         separated by commas.",
    ),
    variable(
        NETWORK,
        "PLUGIN_RELAYS",
        "Relays of plugins",
        None,
        "Where hosts that plugins ask for by themselves are asked for instead, as https://host=http://elsewhere:port, \
         separated by commas; private addresses will do.",
    ),
    secret(
        NETWORK,
        "PROVIDER_A_API_KEY",
        "Key of TMDB",
        "What TMDB is asked with, while the setting `media.providerAApiKey` is empty.",
    ),
    secret(
        NETWORK,
        "PROVIDER_B_API_KEY",
        "Key of TheTVDB",
        "What TheTVDB is asked with, while the setting `media.providerBApiKey` is empty.",
    ),
    secret(
        NETWORK,
        "PROVIDER_B_PIN",
        "PIN of TheTVDB",
        "The subscriber's PIN at TheTVDB, while the setting `media.providerBPin` is empty.",
    ),
    secret(
        NETWORK,
        "OMDB_API_KEY",
        "Key of OMDb",
        "What OMDb is asked with for ratings, while the setting `media.omdbApiKey` is empty.",
    ),
    variable(
        SEED_ADMIN,
        "ADMIN_USERNAME",
        "User name",
        Some("admin"),
        "The first administrator, made when no user has that name.",
    ),
    variable(
        SEED_ADMIN,
        "ADMIN_EMAIL",
        "Email",
        Some("admin@quartermaster.local"),
        "The first administrator's address.",
    ),
    secret(
        SEED_ADMIN,
        "ADMIN_PASSWORD",
        "Password",
        "The first administrator's, 10 to 256 characters; without it one is generated and printed once.",
    ),
];

/// Values that `lookup` has for the variables of the table.
pub(super) fn environment(lookup: &dyn Fn(&str) -> Option<OsString>) -> Vec<EnvEntry> {
    VARIABLES
        .iter()
        .map(|variable| {
            let value = lookup(variable.name).filter(|value| !value.is_empty());
            EnvEntry {
                key: variable.name,
                group: variable.group,
                label: variable.label,
                description: variable.about,
                secret: variable.secret,
                set: value.is_some(),
                value: value
                    .filter(|_| !variable.secret)
                    .map(|value| value.to_string_lossy().into_owned()),
            }
        })
        .collect()
}

/// A Markdown table of every variable.
pub(super) fn table() -> String {
    let mut table = String::from("| variable | default | what it does |\n|---|---|---|\n");
    for variable in VARIABLES {
        let default = variable
            .default
            .map_or_else(|| "unset".to_owned(), |default| format!("`{default}`"));
        let secret = if variable.secret { " Secret." } else { "" };
        let _ = writeln!(
            table,
            "| `{}` | {default} | {}{secret} |",
            variable.name, variable.about
        );
    }
    table
}

/// `docs/settings.md`.
pub fn document() -> String {
    format!(
        "# Configuration\n\n\
         Made by `cargo xtask openapi` from the tables the server itself reads; do not edit it by hand.\n\n\
         ## Environment\n\n\
         Read once, at the start. An empty variable counts as unset; a value that cannot be read stops the start.\n\n\
         {}\n\
         ## Settings\n\n\
         Kept in the database. `GET /api/settings` shows those that are stored, secrets masked as `{}`. Any writer: \
         `PUT /api/settings/{{key}}` and `PATCH /api/settings`, which refuse a key that is no setting, and most of \
         the time do not check values; a value that a setting does not take reads as its default. Sending back what \
         `GET` showed changes nothing. A secret is stored encrypted; sending its mask back keeps it, and an empty \
         text removes it.\n\n{}",
        table(),
        qm_kernel::secret::MASK,
        qm_platform::settings_table(),
    )
}
