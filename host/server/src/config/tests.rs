//! The table of variables: what each takes, what it refuses and how the refusal reads.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;

use proptest::prelude::*;

use super::*;

fn read(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let table: HashMap<&str, &str> = variables.iter().copied().collect();
    Config::from_lookup(&|name| table.get(name).map(OsString::from))
}

fn good(variables: &[(&str, &str)]) -> Config {
    read(variables).unwrap_or_else(|error| panic!("{variables:?}: {error}"))
}

#[test]
fn defaults_are_those_of_the_contract() {
    let config = good(&[]);
    assert_eq!(config.listen.to_string(), "127.0.0.1:4000");
    assert!(!config.production);
    assert_eq!(config.data_dir.to_str(), Some("./data"));
    assert_eq!(config.plugins_dir.to_str(), Some("./plugins"));
    assert_eq!(config.database_url.expose(), "sqlite:./data/quartermaster.db");
    assert_eq!((config.throttle_limit, config.trusted_proxies), (120, 1));
    assert_eq!(config.cors_origins, ["http://localhost:5173"]);
    assert_eq!(config.file_roots, ["/downloads"]);
    assert!(config.ssrf_allow_hosts.is_empty());
    assert_eq!(config.update_check_url, None);
    assert!(config.secrets.jwt_access.is_none() && config.secrets.encryption.is_none());
    assert_eq!(config.access_ttl, Duration::from_mins(15));
    assert_eq!(config.refresh_ttl, Duration::from_hours(30 * 24));
    assert_eq!(
        (&*config.admin.username, &*config.admin.email),
        ("admin", "admin@quartermaster.local")
    );
    assert!(config.admin.password.is_none());
    assert_eq!(config.log.format, LogFormat::Pretty);
}

#[test]
fn a_token_that_lives_for_more_than_a_day_is_warned_of() {
    for (ttl, warned) in [
        ("15m", false),
        ("24h", false),
        ("1d", false),
        ("25h", true),
        ("7d", true),
    ] {
        let warnings = warnings(&good(&[("JWT_ACCESS_TTL", ttl)]));
        assert_eq!(
            warnings.iter().any(|text| text.starts_with("JWT_ACCESS_TTL")),
            warned,
            "{ttl}: {warnings:?}"
        );
    }
}

#[test]
fn values_are_read() {
    let config = good(&[
        ("HOST", "::1"),
        ("PORT", " 0 "),
        ("NODE_ENV", "production"),
        ("DATA_DIR", "/srv/q m"),
        ("PLUGINS_DIR", "/srv/plugins"),
        ("THROTTLE_LIMIT", "1000000"),
        ("TRUSTED_PROXIES", "0"),
        ("CORS_ORIGIN", "https://a.example, ,https://b.example:8443"),
        ("FILE_MANAGER_ROOTS", " /a , ,/b"),
        ("SSRF_ALLOW_HOSTS", "tracker.lan,10.0.0.0/8"),
        ("UPDATE_CHECK_URL", "https://code.lan/api/tags?limit=100"),
        ("JWT_ACCESS_SECRET", " spaces count "),
        ("ENCRYPTION_KEY_PREVIOUS", "old-1, old-2"),
        ("JWT_ACCESS_TTL", "2h"),
        ("JWT_REFRESH_TTL_DAYS", "1"),
        ("ADMIN_USERNAME", "root"),
        ("ADMIN_EMAIL", "root@example.org"),
        ("ADMIN_PASSWORD", "ten chars!"),
        ("LOG_FORMAT", "json"),
        ("RUST_LOG", "warn,qm_web=debug"),
    ]);
    assert_eq!(config.listen.to_string(), "[::1]:0");
    assert!(config.production);
    assert_eq!(config.database_url.expose(), "sqlite:/srv/q m/quartermaster.db");
    assert_eq!((config.throttle_limit, config.trusted_proxies), (1_000_000, 0));
    assert_eq!(
        config.cors_origins,
        ["https://a.example", "https://b.example:8443"]
    );
    assert_eq!(config.file_roots, ["/a", "/b"]);
    assert_eq!(config.ssrf_allow_hosts, ["tracker.lan", "10.0.0.0/8"]);
    assert_eq!(
        config.update_check_url.as_deref(),
        Some("https://code.lan/api/tags?limit=100")
    );
    assert_eq!(
        config.secrets.jwt_access.as_ref().map(Secret::expose),
        Some(" spaces count ")
    );
    assert_eq!(config.secrets.encryption_previous.len(), 2);
    assert_eq!(config.access_ttl, Duration::from_hours(2));
    assert_eq!(config.refresh_ttl, Duration::from_hours(24));
    assert_eq!(
        config.log,
        LogConfig {
            format: LogFormat::Json,
            filter: "warn,qm_web=debug".to_owned()
        }
    );
}

#[test]
fn an_empty_variable_counts_as_unset() {
    for variable in [
        "HOST",
        "PORT",
        "DATA_DIR",
        "DATABASE_URL",
        "CORS_ORIGIN",
        "JWT_ACCESS_TTL",
        "ADMIN_PASSWORD",
        "RUST_LOG",
    ] {
        let config = good(&[(variable, "")]);
        assert_eq!(format!("{config:?}"), format!("{:?}", good(&[])), "{variable}");
    }
}

/// Each refusal names the variable and shows the value.
#[test]
fn unreadable_values_are_refused() {
    let table: &[(&'static str, &[&str])] = &[
        ("HOST", &["example.org", "256.1.1.1", "127.0.0.1:80"]),
        ("PORT", &["65536", "-1", "http", "40 00"]),
        ("THROTTLE_LIMIT", &["0", "-5", "many", "1.5"]),
        ("TRUSTED_PROXIES", &["2", "yes", "-1"]),
        (
            "CORS_ORIGIN",
            &[
                "*",
                "https://a.example/",
                "a.example",
                "https://",
                "https://*.a.example",
            ],
        ),
        ("FILE_MANAGER_ROOTS", &["downloads", "./x"]),
        (
            "JWT_ACCESS_TTL",
            &[
                "900",
                "15",
                "m",
                "-1m",
                "0s",
                "1.5h",
                "15 m",
                "15x",
                "9999999999999d",
                "٣m",
            ],
        ),
        ("JWT_REFRESH_TTL_DAYS", &["0", "3651", "30d", "-1"]),
        ("ADMIN_EMAIL", &["admin", "@x", "x@"]),
        ("LOG_FORMAT", &["JSON", "text"]),
        ("RUST_LOG", &["qm_web=loud"]),
    ];
    for (variable, values) in table {
        for value in *values {
            let error = read(&[(variable, value)])
                .err()
                .unwrap_or_else(|| panic!("{variable}={value} was taken"));
            let line = error.to_string();
            assert!(
                line.starts_with(variable) && line.contains(value),
                "{variable}={value}: {line}"
            );
        }
    }
}

#[test]
fn secrets_are_not_shown_when_refused() {
    for (variable, value) in [
        ("DATABASE_URL", "mysql://me:hunter2@db/x"),
        ("ADMIN_PASSWORD", "hunter2"),
    ] {
        let line = read(&[(variable, value)]).expect_err("refused").to_string();
        assert!(line.starts_with(variable) && !line.contains("hunter2"), "{line}");
    }
}

/// Every variable that is read is in the table, and every one in the table is read.
#[test]
fn the_table_of_variables_is_what_is_read() {
    let asked = RefCell::new(BTreeSet::new());
    let reader = |name: &str| -> Option<OsString> {
        asked.borrow_mut().insert(name.to_owned());
        None
    };
    Config::read(&reader).expect("nothing is set");
    let listed: BTreeSet<String> = VARIABLES
        .iter()
        .map(|variable| variable.name.to_owned())
        .collect();
    assert_eq!(asked.into_inner(), listed);
    assert_eq!(
        listed.len(),
        VARIABLES.len(),
        "a variable stands in the table twice"
    );
}

#[test]
fn the_defaults_of_the_table_hold() {
    let unset = good(&[]);
    for variable in VARIABLES {
        let Some(default) = variable.default else {
            continue;
        };
        let mut set = good(&[(variable.name, default)]);
        set.environment.clone_from(&unset.environment);
        assert_eq!(format!("{set:?}"), format!("{unset:?}"), "{}", variable.name);
    }
}

#[test]
fn the_environment_is_shown_without_secrets() {
    let config = good(&[
        ("PORT", "8080"),
        ("HOST", ""),
        ("DATABASE_URL", "postgres://me:hunter2@db/x"),
        ("ADMIN_PASSWORD", "hunter2 hunter2"),
        ("ENCRYPTION_KEY_PREVIOUS", "hunter2,hunter3"),
    ]);
    let shown = |key: &str| {
        let entry = config.environment.iter().find(|entry| entry.key == key);
        entry.map(|entry| (entry.secret, entry.set, entry.value.as_deref()))
    };
    assert_eq!(shown("PORT"), Some((false, true, Some("8080"))));
    assert_eq!(shown("HOST"), Some((false, false, None)));
    for secret in ["DATABASE_URL", "ADMIN_PASSWORD", "ENCRYPTION_KEY_PREVIOUS"] {
        assert_eq!(shown(secret), Some((true, true, None)));
    }
    assert_eq!(shown("ENCRYPTION_KEY"), Some((true, false, None)));
    assert!(!format!("{:?}", config.environment).contains("hunter"));
}

#[test]
fn documents_name_every_variable() {
    let document = document();
    let operate = include_str!("../../../../docs/operate.md");
    for variable in VARIABLES {
        let row = format!("\n| `{}` |", variable.name);
        assert!(document.contains(&row), "{row} in docs/settings.md");
        assert!(operate.contains(&row), "{row} in docs/operate.md");
    }
    assert!(document.contains("\n| `files.trashRetentionDays` | number | `30` |"));
}

proptest! {
    #[test]
    fn hostile_values_never_panic_and_errors_are_one_line(name in prop::sample::select(vec![
        "HOST", "PORT", "DATABASE_URL", "THROTTLE_LIMIT", "TRUSTED_PROXIES", "CORS_ORIGIN", "FILE_MANAGER_ROOTS",
        "JWT_ACCESS_TTL", "JWT_REFRESH_TTL_DAYS", "ADMIN_EMAIL", "ADMIN_PASSWORD", "LOG_FORMAT", "RUST_LOG",
    ]), value in "(?s).*") {
        if let Err(error) = read(&[(name, &value)]) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
}
