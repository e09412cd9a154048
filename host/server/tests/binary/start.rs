//! Starts that fail say one line and write nothing, starts that succeed do what they say.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use crate::place::{Place, STRONG_A, STRONG_B, text};

/// A machine that trusts nobody.
const NO_AUTHORITIES: &[(&str, &str)] = &[("SSL_CERT_FILE", "./garbage"), ("SSL_CERT_DIR", "./plugins")];

/// Runs a start that must fail and checks how.
fn refused(place: &Place, variables: &[(&str, &str)], expected: &[&str]) {
    let before = place.contents();
    let output = place.run(&[], variables);
    let line = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{variables:?}: {line}");
    assert!(
        line.starts_with("quartermaster: ") && line.ends_with('\n') && line.matches('\n').count() == 1,
        "{line:?}"
    );
    for part in expected {
        assert!(line.contains(part), "{variables:?}: `{part}` is not in: {line}");
    }
    assert!(output.stdout.is_empty(), "{variables:?}");
    assert_eq!(place.contents(), before, "{variables:?}: something was written");
}

#[test]
fn a_mistake_is_told_in_one_line_and_nothing_is_written() {
    let place = Place::new();
    std::fs::write(
        place.path("garbage"),
        "this is no database, and nobody may overwrite it".repeat(50),
    )
    .expect("written");
    let taken = TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = taken.local_addr().expect("bound").port().to_string();
    let production = ("NODE_ENV", "production");
    let table: &[(&[(&str, &str)], &[&str])] = &[
        (&[("PORT", "http")], &["PORT is `http`", "65535"]),
        (&[("JWT_ACCESS_TTL", "900")], &["JWT_ACCESS_TTL is `900`", "15m"]),
        (&[("THROTTLE_LIMIT", "a\nb")], &["THROTTLE_LIMIT is `a\\nb`"]),
        (
            &[("SSRF_ALLOW_HOSTS", "10.0.0.0/99")],
            &["SSRF_ALLOW_HOSTS", "10.0.0.0/99"],
        ),
        (
            &[("PLUGINS_DIR", "./nowhere")],
            &["plugins directory `./nowhere`", "PLUGINS_DIR"],
        ),
        (
            &[("PLUGINS_DIR", "./garbage")],
            &["plugins directory `./garbage`", "PLUGINS_DIR"],
        ),
        (&[("PORT", &port)], &[&port, "set PORT"]),
        (NO_AUTHORITIES, &["CA certificates", "ca-certificates"]),
        (&[("HOST", "203.0.113.7")], &["203.0.113.7", "HOST"]),
        (
            &[production],
            &[
                "JWT_ACCESS_SECRET is not set",
                "ENCRYPTION_KEY is not set",
                "openssl rand",
            ],
        ),
        (
            &[
                production,
                ("JWT_ACCESS_SECRET", STRONG_A),
                ("ENCRYPTION_KEY", STRONG_A),
            ],
            &["JWT_ACCESS_SECRET and ENCRYPTION_KEY are equal"],
        ),
        (
            &[
                production,
                ("JWT_ACCESS_SECRET", "dev-secret"),
                ("ENCRYPTION_KEY", STRONG_B),
            ],
            &[
                "JWT_ACCESS_SECRET is a known default",
                "JWT_ACCESS_SECRET is shorter than 32 characters",
            ],
        ),
        (
            &[("DATABASE_URL", "mysql://user:hunter2@db/x")],
            &["DATABASE_URL", "sqlite:"],
        ),
        (&[("DATABASE_URL", "sqlite:./garbage")], &["./garbage"]),
        (&[("DATABASE_URL", "sqlite:./plugins")], &["./plugins"]),
        (
            &[("DATABASE_URL", "sqlite:./nowhere/file.db")],
            &["./nowhere/file.db"],
        ),
        (
            &[("DATABASE_URL", "postgres://user:hunter2@127.0.0.1:1/x")],
            &["127.0.0.1", "DATABASE_URL"],
        ),
        (
            &[("DATA_DIR", "./garbage/data")],
            &["data directory `./garbage/data`", "DATA_DIR"],
        ),
    ];
    for (variables, expected) in table {
        refused(&place, variables, expected);
    }
    drop(taken);
}

#[test]
fn roots_that_overlap_what_is_the_servers_own_are_refused() {
    let place = Place::new();
    for folder in ["srv/data/backups", "srv/downloads", "db"] {
        std::fs::create_dir_all(place.path(folder)).expect("made");
    }
    std::os::unix::fs::symlink(place.path("srv"), place.path("link")).expect("made");
    let at = |path: &str| place.path(path).display().to_string();
    let (data, plugins) = (at("srv/data"), at("plugins"));
    let database = format!("sqlite:{}", at("db/own.db"));
    for (root, variable, own) in [
        (at("srv"), "DATA_DIR", &data),
        (at("link"), "DATA_DIR", &data),
        (data.clone(), "DATA_DIR", &data),
        (at("link/data/backups"), "DATA_DIR", &data),
        (at("plugins"), "PLUGINS_DIR", &plugins),
        (at("plugins/films"), "PLUGINS_DIR", &plugins),
        (at("db"), "DATABASE_URL", &at("db/own.db")),
    ] {
        let roots = format!("/downloads,{root}");
        let variables = [
            ("DATA_DIR", data.as_str()),
            ("PLUGINS_DIR", &plugins),
            ("DATABASE_URL", &database),
            ("FILE_MANAGER_ROOTS", &roots),
        ];
        let named = format!("`{root}`");
        let (own, variable) = (format!("`{own}`"), format!("({variable})"));
        refused(
            &place,
            &variables,
            &[&named, &own, &variable, "FILE_MANAGER_ROOTS"],
        );
    }
    refused(
        &place,
        &[("FILE_MANAGER_ROOTS", "/")],
        &["`/`", "FILE_MANAGER_ROOTS"],
    );
}

#[test]
fn a_broken_secrets_file_is_kept() {
    let place = Place::new();
    std::fs::create_dir(place.path("data")).expect("made");
    std::fs::write(place.path("data/secrets.json"), "{ half").expect("written");
    refused(&place, &[], &["data/secrets.json", "restore the file"]);
}

#[test]
fn wrong_usage_is_told_apart() {
    let place = Place::new();
    for arguments in [
        &["nonsense"][..],
        &["serve", "--port", "1"],
        &["plugin"],
        &["plugin", "check"],
        &["plugin", "check", "x.wasm", "--config", "{"],
        &["plugin", "check", "x.wasm", "--config", "@nowhere"],
    ] {
        let output = place.run(arguments, &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
    }
    let output = place.run(&["plugin", "check", "nowhere.wasm"], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nowhere.wasm"));
    assert_eq!(place.contents(), [(place.path("plugins"), 0)]);
}

#[test]
fn a_first_start_makes_what_it_needs_and_a_second_one_keeps_it() {
    let place = Place::new();
    let first = place.serve(&[]);
    assert!(first.get("/api/system/live").starts_with("HTTP/1.1 200 "));
    assert!(first.get("/api/docs/openapi.json").starts_with("HTTP/1.1 200 "));
    let (status, said) = first.stop("-TERM");
    assert!(status.success(), "{status}");
    assert!(
        said.contains("/api/docs") && said.contains("First administrator: admin, password "),
        "{said}"
    );

    let mode = |name: &str| {
        std::fs::metadata(place.path(name))
            .expect(name)
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(
        (
            mode("data"),
            mode("data/secrets.json"),
            mode("data/quartermaster.db")
        ),
        (0o700, 0o600, 0o600)
    );
    let secrets = std::fs::read(place.path("data/secrets.json")).expect("readable");

    // They are read beside what such a start does; it waits for them all the same.
    let without = place.run(&[], NO_AUTHORITIES);
    let complaint = String::from_utf8_lossy(&without.stderr);
    assert_eq!(without.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("CA certificates"), "{complaint}");

    let second = place.serve(&[]);
    assert!(second.get("/api/system/ready").contains("\"database\":true"));
    let (status, said) = second.stop("-INT");
    assert!(status.success(), "{status}");
    assert!(!said.contains("password"), "{said}");
    assert_eq!(
        std::fs::read(place.path("data/secrets.json")).expect("readable"),
        secrets
    );
}

#[test]
fn production_serves_no_documentation_and_writes_no_secrets() {
    let place = Place::new();
    let data = text(&place.path("state/deep"));
    let server = place.serve(&[
        ("NODE_ENV", "production"),
        ("JWT_ACCESS_SECRET", STRONG_A),
        ("ENCRYPTION_KEY", STRONG_B),
        ("ADMIN_PASSWORD", "a password of the operator"),
        ("DATA_DIR", &data),
        ("LOG_FORMAT", "json"),
    ]);
    assert!(server.get("/api/docs").starts_with("HTTP/1.1 404 "));
    let (status, said) = server.stop("-TERM");
    assert!(status.success(), "{status}");
    assert_eq!(said, "", "a supplied password is not shown");
    assert!(!place.path("state/deep/secrets.json").exists());
}

#[test]
fn migrate_prepares_the_database_and_nothing_else() {
    let place = Place::new();
    for _ in 0..2 {
        let output = place.run(&["migrate"], &[]);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(output.stdout, b"The database is up to date.\n");
    }
    assert!(place.path("data/quartermaster.db").exists());
    assert!(!place.path("data/secrets.json").exists());
}

#[test]
fn the_document_is_printed_without_starting_anything() {
    let place = Place::new();
    let output = place.run(&["openapi"], &[("PORT", "nonsense")]);
    assert!(output.status.success());
    let document = qm_server::api::document().expect("serialised");
    assert!(output.stdout == document.as_bytes());
    assert_eq!(place.contents(), [(place.path("plugins"), 0)]);

    let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(document["openapi"], "3.1.0");
    let login = &document["paths"]["/api/auth/login"]["post"];
    assert_eq!(
        (&login["x-access"], &login["security"]),
        (&serde_json::json!("public"), &serde_json::json!([]))
    );
    let reload = &document["paths"]["/api/plugins/{id}/reload"]["post"];
    assert_eq!(reload["x-permissions"], serde_json::json!(["system.manage"]));
}

#[test]
fn the_soft_limit_on_open_files_is_raised_to_the_hard_one() {
    let place = Place::new();
    let log = place.path("log");
    let server = place.serve_after(&format!("exec 2>{} && ulimit -Sn 300", log.display()), &[]);
    let limits = server.proc("limits");
    let row = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .expect("a row");
    let numbers: Vec<&str> = row.split_whitespace().skip(3).take(2).collect();
    assert_eq!(numbers[0], numbers[1], "soft and hard: {row}");
    assert_ne!(numbers[0], "300", "{row}");
    drop(server);
    let log = std::fs::read_to_string(log).expect("readable");
    let said = log
        .lines()
        .find(|line| line.contains("open files"))
        .expect("the log says so");
    assert!(said.contains("300") && said.contains(numbers[0]), "{said}");
}
