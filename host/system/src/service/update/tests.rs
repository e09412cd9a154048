use std::net::SocketAddr;

use qm_db::{Db, all, db_test};
use qm_kernel::{ClientInfo, Ctx, PermissionSet, Principal, Requester, Role};
use qm_net::NetConfig;
use qm_platform::testing::{self, Claims};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

qm_db::sql! { AUDITED = "SELECT action, object_id FROM audit_logs"; }

const PATIENCE: Duration = Duration::from_mins(1);

/// HTTP server that answers every request with the same bytes and reports the requests; without bytes it
/// never answers.
async fn repository(answer: Vec<u8>) -> (SocketAddr, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (say, asked) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (answer, say) = (answer.clone(), say.clone());
            tokio::spawn(async move {
                let mut head = vec![0; 4096];
                let read = stream.read(&mut head).await.unwrap_or(0);
                let _ = say.send(String::from_utf8_lossy(&head[..read]).into_owned());
                if answer.is_empty() {
                    std::future::pending::<()>().await;
                }
                // The client may have closed the connection.
                let _ = stream.write_all(&answer).await;
            });
        }
    });
    (address, asked)
}

fn answer(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}").into_bytes()
}

fn updates(db: &Db, url: Option<String>) -> Updates {
    Updates::new(deps(db, url))
}

fn deps(db: &Db, url: Option<String>) -> UpdateDeps {
    UpdateDeps {
        ground: testing::ground(db, &Ctx::system(), Arc::new(Claims)),
        net: Net::new(NetConfig::default()).unwrap(),
        url,
        current: "1.4.2",
    }
}

async fn checked(db: &Db, answer: Vec<u8>) -> Standing {
    let (address, _asked) = repository(answer).await;
    let updates = updates(db, Some(format!("http://{address}/tags?token=hush")));
    updates.check().await.unwrap()
}

fn someone() -> Requester {
    let principal = Principal {
        user_id: "u".into(),
        username: "u".into(),
        roles: vec![Role::SuperAdmin],
        permissions: PermissionSet::empty(),
        expires_at: Timestamp::from_ms(i64::MAX),
    };
    let client = ClientInfo {
        ip: [127, 0, 0, 1].into(),
        forwarded: "127.0.0.1".to_owned(),
        user_agent: None,
        request_id: String::new(),
    };
    Requester { principal, client }
}

#[test]
fn versions_compare_as_numbers_and_nothing_else_is_one() {
    let mut names = ["v1.10.0", "1.9.9", "v1.9.10", "0.99.99", "2.0.0", "v10.0.0"];
    names.sort_by_key(|name| Version::parse(name));
    assert_eq!(
        names,
        ["0.99.99", "1.9.9", "v1.9.10", "v1.10.0", "2.0.0", "v10.0.0"]
    );
    assert!(names.iter().all(|name| Version::parse(name).is_some()));
    for name in [
        "",
        "v",
        "1",
        "1.2",
        "1.2.3.4",
        "1.2.3-rc1",
        "1.2.x",
        "vv1.2.3",
        "V1.2.3",
        " 1.2.3",
        "1..3",
        "1.+2.3",
        "99999999999999999999999.0.0",
        "release-1.2.3",
    ] {
        assert_eq!(Version::parse(name), None, "{name:?}");
    }
}

#[test]
fn containers_of_every_runtime_are_told_from_a_bare_machine() {
    let bare_mount = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw";
    let volume = "30 22 8:1 /docker/volumes /srv/docker rw - ext4 /dev/sda1 rw";
    let docker = "600 500 0:50 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A:/var/lib/docker/overlay2/l/B";
    let kubernetes = "600 500 0:50 / / rw - overlay overlay rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/1/fs";
    for (file, variable, mounts, cgroup, expected) in [
        ("", "", bare_mount, "0::/init.scope", false),
        ("", "", volume, "0::/", false),
        ("", "", "", "", false),
        ("/.dockerenv", "", bare_mount, "0::/", true),
        ("/run/.containerenv", "", bare_mount, "0::/", true),
        ("", "KUBERNETES_SERVICE_HOST", bare_mount, "0::/", true),
        ("", "container", bare_mount, "0::/", true),
        ("", "", docker, "0::/", true),
        ("", "", kubernetes, "0::/", true),
        ("", "", bare_mount, "12:pids:/docker/0123", true),
        (
            "",
            "",
            bare_mount,
            "1:name=systemd:/kubepods/besteffort/pod1",
            true,
        ),
    ] {
        let machine = Machine {
            exists: &|asked| asked == file,
            read: &|asked| {
                if asked.ends_with("mountinfo") {
                    mounts
                } else {
                    cgroup
                }
                .to_owned()
            },
            has_variable: &|asked| asked == variable,
        };
        assert_eq!(
            machine.is_container(),
            expected,
            "{file} {variable} {mounts} {cgroup}"
        );
    }
}

db_test! {
    async fn the_newest_tag_is_found(db: Db) {
        let body = r#"[{"name":"v1.9.0","commit":{"sha":"0"}},{"name":"v1.10.0"},{"name":"nightly"},{"name":"v2.0.0-rc1"}]"#;
        let (address, mut asked) = repository(answer("200 OK", body)).await;
        let updates = updates(&db, Some(format!("http://{address}/tags?per_page=100")));
        let standing = updates.standing().await.unwrap();
        assert_eq!((standing.latest, standing.checked_at, standing.available), (None, None, false));
        assert!(standing.enabled);

        let standing = updates.check().await.unwrap();
        assert_eq!((standing.latest.as_deref(), standing.available), (Some("1.10.0"), true));
        assert_eq!((standing.error, standing.current), (None, "1.4.2"));
        assert!(standing.checked_at.is_some());
        let request = asked.recv().await.unwrap().to_ascii_lowercase();
        assert!(request.starts_with("get /tags?per_page=100 http/1.1\r\n"), "{request}");
        assert!(request.contains("user-agent: quartermaster/1.4.2\r\n"), "{request}");
    }

    async fn the_running_version_is_no_update(db: Db) {
        for (body, latest) in [
            (r#"[{"name":"v1.4.2"},{"name":"v1.4.1"}]"#, Some("1.4.2")),
            (r#"[{"name":"0.1.0"}]"#, Some("0.1.0")),
            (r#"[{"name":"main"}]"#, None),
            ("[]", None),
        ] {
            let standing = checked(&db, answer("200 OK", body)).await;
            assert_eq!((standing.latest.as_deref(), standing.available, standing.error), (latest, false, None), "{body}");
        }
    }

    async fn whatever_is_wrong_with_the_repository_is_told_and_names_no_url(db: Db) {
        let huge = format!("[{}]", vec![r#"{"name":"v9.9.9"}"#; 80_000].join(","));
        let endless = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".iter().copied();
        let endless: Vec<u8> = endless.chain(std::iter::repeat_n(b'[', 2 << 20)).collect();
        for (answer, error) in [
            (answer("200 OK", "<html>"), "The repository's answer is no list of tags"),
            (answer("200 OK", r#"{"name":"v9.9.9"}"#), "The repository's answer is no list of tags"),
            (answer("200 OK", r#"[{"tag":"v9.9.9"}]"#), "The repository's answer is no list of tags"),
            (answer("200 OK", &huge), "The repository cannot be asked: the answer is too large"),
            (endless, "The repository cannot be asked: the answer is too large"),
            (answer("404 Not Found", "[]"), "The repository answered 404"),
            (answer("302 Found\r\nlocation: http://127.0.0.1:1/", "[]"), "The repository answered 302"),
            (b"no HTTP at all\r\n\r\n".to_vec(), "The repository cannot be asked: "),
        ] {
            let standing = checked(&db, answer).await;
            let said = standing.error.unwrap();
            assert!(said.starts_with(error), "{said} instead of {error}");
            assert!(!said.contains("hush"), "{said}");
            assert_eq!((standing.latest, standing.available), (None, false), "{said}");
            assert!(standing.checked_at.is_some());
        }
    }

    async fn metadata_addresses_are_never_asked(db: Db) {
        let updates = updates(&db, Some("http://169.254.169.254/latest/meta-data".to_owned()));
        let standing = updates.check().await.unwrap();
        assert_eq!(
            standing.error.as_deref(),
            Some("The repository cannot be asked: http://169.254.169.254:80 is never dialled")
        );
    }

    async fn a_silent_repository_is_given_up_and_the_last_answer_stays(db: Db) {
        let trickle = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[".to_vec();
        for answer in [Vec::new(), trickle] {
            let (address, _asked) = repository(answer).await;
            let deps = deps(&db, Some(format!("http://{address}/")));
            let updates = Updates::with_total(deps, Duration::from_millis(200));
            updates.found().latest = Version::parse("2.0.0");
            let standing = tokio::time::timeout(PATIENCE, updates.check()).await.expect("it gives up").unwrap();
            assert!(standing.error.is_some());
            assert_eq!((standing.latest.as_deref(), standing.available), (Some("2.0.0"), true));
        }
        assert_eq!(TOTAL, Duration::from_secs(10));
    }

    async fn without_a_repository_nobody_is_asked_and_nothing_is_wrong(db: Db) {
        let updates = updates(&db, None);
        let standing = updates.check().await.unwrap();
        assert_eq!(
            (standing.enabled, standing.latest, standing.error, standing.checked_at),
            (false, None, None, None)
        );
        let requester = someone();
        let switched = updates.switch(true, requester.caller()).await.unwrap();
        assert!(!switched.enabled);
        assert!(switched.error.is_some_and(|why| why.contains("UPDATE_CHECK_URL is not set")));
        assert_eq!(updates.switch(false, requester.caller()).await.unwrap().error, None);
    }

    async fn it_looks_at_the_start_and_when_it_is_switched_on_and_not_while_it_is_off(db: Db) {
        let (address, mut asked) = repository(answer("200 OK", r#"[{"name":"v2.0.0"}]"#)).await;
        let updates = updates(&db, Some(format!("http://{address}/")));
        let requester = someone();
        assert!(!updates.switch(false, requester.caller()).await.unwrap().enabled);

        let background = Background::new(&prometheus::Registry::new()).unwrap();
        updates.start(&background);
        let first = tokio::time::timeout(Duration::from_millis(300), asked.recv()).await;
        assert!(first.is_err(), "it is switched off");
        assert!(updates.switch(true, requester.caller()).await.unwrap().enabled);
        tokio::time::timeout(PATIENCE, asked.recv()).await.expect("it looks at once").unwrap();
        background.shutdown().await;

        let background = Background::new(&prometheus::Registry::new()).unwrap();
        updates.start(&background);
        tokio::time::timeout(PATIENCE, asked.recv()).await.expect("it looks at the start").unwrap();
        background.shutdown().await;

        let mut tx = db.begin_read().await.unwrap();
        let rows = all!(&mut tx, (String, Option<String>), AUDITED).await.unwrap();
        let row = ("settings.update".to_owned(), Some("system.updateCheck".to_owned()));
        assert_eq!(rows, [row.clone(), row]);
    }
}
