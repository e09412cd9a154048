//! Every operation against every generation of qbittorrent-nox, each verified by asking the client itself. With `QM_RECORD`
//! set, what went over the wire is written to `tests/recorded/`, which `recorded.rs` replays.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on ends"
)]

mod support;

use std::path::{Path, PathBuf};

use engine_model::{Attention, Error, Torrent};
use qm_generations::{Generation, Product, Program, each_generation};
use serde_json::Value;
use support::client::{Client, PASSWORD, USER};
use support::exchange::Exchange;
use support::scenarios::{Given, MAGNET, RECORDED_OF_EACH, SCENARIOS};
use support::wire::Wire;
use webapi_core::Delta;

each_generation! { qbittorrent:
    every_operation_does_what_it_says,
    a_restarted_client_is_logged_in_to_again_and_nothing_is_lost,
    a_wrong_password_does_not_get_the_address_banned,
    a_ban_is_an_auth_error,
    quiet_polls_tell_what_others_do,
}

fn every_operation_does_what_it_says(program: &Program) {
    let client = Client::start(program, 0);
    let given = Given::new(&client.home(), program.version());
    for scenario in SCENARIOS {
        prepare(scenario.name, &given);
        println!("{}", scenario.name);
        let (wire, record) = Wire::real();
        let mut session = support::session(wire, &client.base_url(), USER, PASSWORD);
        (scenario.run)(&mut session, &given);
        session.close();
        verify(scenario.name, &client, &given);
        let is_oldest = program.generation() == Generation::oldest(Product::Qbittorrent);
        let is_recorded = is_oldest || RECORDED_OF_EACH.contains(&scenario.name);
        if is_recorded && std::env::var_os("QM_RECORD").is_some() {
            write_record(scenario.name, &client, program.version(), &record.borrow());
        }
    }
}

/// Preparation that a scenario needs before it runs.
fn prepare(name: &str, given: &Given) {
    if name == "recheck" {
        let folder = given.folder("one/alpha");
        std::fs::create_dir_all(format!("{folder}/sub")).expect("a folder");
        let (a, b) = given.two.content.split_at(20_000);
        std::fs::write(format!("{folder}/a.bin"), a).expect("a file");
        std::fs::write(format!("{folder}/sub/b.bin"), b).expect("a file");
    }
}

/// True when the torrent is halted: `paused` up to 4, `stopped` since 5, with `DL` or `UP` for what it would do.
fn is_halted(torrent: &Value, would: &str) -> bool {
    ["paused", "stopped"]
        .iter()
        .any(|word| torrent["state"] == format!("{word}{would}"))
}

/// Check after a scenario: the client itself shows the change.
fn verify(name: &str, client: &Client, given: &Given) {
    let hash = given.two.hash.as_str();
    let torrent = || {
        client
            .torrent(hash)
            .unwrap_or_else(|| panic!("{name}: the client has lost {hash}"))
    };
    let files = || client.ask(&format!("/torrents/files?hash={hash}")).json();
    match name {
        "add_file" => {
            let torrent = torrent();
            let expected = [
                ("name", Value::from("Alpha & Ω")),
                ("category", "tv shows".into()),
                ("tags", "a, b c".into()),
                ("save_path", given.folder("one").into()),
                ("seq_dl", true.into()),
                ("f_l_piece_prio", true.into()),
                ("up_limit", 102_400.into()),
                ("dl_limit", 204_800.into()),
            ];
            for (field, value) in expected {
                assert_eq!(torrent[field], value, "{field}");
            }
            assert!(is_halted(&torrent, "DL"), "{torrent}");
        }
        "add_magnet" => assert!(client.torrent(MAGNET).is_some()),
        "start_and_stop" | "force_start" => assert!(is_halted(&torrent(), "DL")),
        "recheck" => client.wait_for("checked", |_| is_halted(&torrent(), "UP")),
        "rename" => assert_eq!(torrent()["name"], "Beta + 100 %"),
        "rename_file" => {
            assert_eq!(files()[0]["name"], "alpha/moved/d.bin");
            assert!(
                Path::new(&given.folder("one/alpha/sub/c.bin")).exists(),
                "the file on disk too"
            );
        }
        "file_priority" => assert_eq!(files()[1]["priority"], 6),
        "limits" => {
            assert_eq!(
                (&torrent()["up_limit"], &torrent()["dl_limit"]),
                (&51_200.into(), &0.into())
            );
        }
        "labels" => assert_eq!(torrent()["category"], "last one"),
        "tags" => assert_eq!(torrent()["tags"], "b c, ünïcode & more"),
        "trackers" => {
            let list = client.ask(&format!("/torrents/trackers?hash={hash}")).json();
            let own = list
                .as_array()
                .expect("a list")
                .iter()
                .filter(|t| t["tier"].as_i64() >= Some(0));
            assert_eq!(own.count(), 1);
        }
        "global_limits" => assert_eq!(client.ask("/transfer/downloadLimit").text(), "0"),
        "move" => {
            assert_eq!(torrent()["save_path"], given.folder("two").as_str());
            client.wait_for("moved", |_| {
                Path::new(&given.folder("two/alpha/moved/d.bin")).exists()
            });
        }
        "poll" => assert_eq!(torrent()["name"], "Gamma"),
        "remove" => {
            assert_eq!(client.ask("/torrents/info").json(), serde_json::json!([]));
            client.wait_for("deleted", |_| {
                !Path::new(&given.folder("two/alpha/moved/d.bin")).exists()
            });
        }
        _ => {}
    }
}

fn write_record(name: &str, client: &Client, version: &str, exchanges: &[Exchange]) {
    let scrubbed = exchanges.iter().cloned().map(|mut exchange| {
        exchange.scrub(&client.home(), "/home/client");
        exchange.to_json()
    });
    let dir = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where"))
        .join("tests/recorded")
        .join(version);
    std::fs::create_dir_all(&dir).expect("a directory");
    let text = serde_json::to_string_pretty(&Value::Array(scrubbed.collect())).expect("JSON");
    std::fs::write(dir.join(format!("{name}.json")), text + "\n").expect("a record");
}

fn session(client: &Client, password: &str) -> support::TestSession {
    support::session(Wire::real().0, &client.base_url(), USER, password)
}

fn a_restarted_client_is_logged_in_to_again_and_nothing_is_lost(program: &Program) {
    let mut client = Client::start(program, 0);
    let mut session = session(&client, PASSWORD);
    client.tell(
        "/torrents/add",
        &format!("urls=magnet%3A%3Fxt%3Durn%3Abtih%3A{MAGNET}&paused=true"),
    );
    client.wait_for("listed", |client| client.torrent(MAGNET).is_some());
    let first = session.poll(None, Attention::Watched, &[]).expect("a list");
    assert_eq!(hashes(&first.changed), [MAGNET]);
    client.restart();
    let after = session
        .poll(Some(first.cursor), Attention::Watched, &[])
        .expect("a list");
    assert!(
        !after.full && after.removed.is_empty(),
        "the same list again is no change: {after:?}"
    );
    client.stop();
    assert!(matches!(
        session.poll(Some(after.cursor), Attention::Watched, &[]),
        Err(Error::Unreachable(_))
    ));
}

/// Quiet polls while another program changes things: each change is told by one of the next five polls.
fn quiet_polls_tell_what_others_do(program: &Program) {
    let client = Client::start(program, 0);
    let mut session = session(&client, PASSWORD);
    let add = |hash: &str| {
        let form = format!("urls=magnet%3A%3Fxt%3Durn%3Abtih%3A{hash}&paused=true&stopped=true");
        client.tell("/torrents/add", &form);
        client.wait_for("listed", |client| client.torrent(hash).is_some());
    };
    add(MAGNET);
    let mut cursor = session
        .poll(None, Attention::Watched, &[])
        .expect("a list")
        .cursor;
    let mut quietly = |what: &str, told: &dyn Fn(&Delta) -> bool| {
        let mut poll = || {
            let delta = session.poll(Some(cursor), Attention::Quiet, &[]).expect("a list");
            cursor = delta.cursor;
            assert!(!delta.full);
            told(&delta)
        };
        assert!((0..5).any(|_| poll()), "{what} was not told");
    };
    let second = MAGNET.replace('a', "b");
    add(&second);
    quietly("a new torrent", &|delta| {
        hashes(&delta.changed).contains(&second.as_str())
    });
    client.tell("/torrents/createCategory", "category=quiet");
    client.tell(
        "/torrents/setCategory",
        &format!("hashes={MAGNET}&category=quiet"),
    );
    client.wait_for("labelled", |client| {
        client
            .torrent(MAGNET)
            .is_some_and(|torrent| torrent["category"] == "quiet")
    });
    let has = |delta: &Delta, field: fn(&Torrent) -> String, value: &str| {
        delta
            .changed
            .iter()
            .any(|torrent| torrent.hash == MAGNET && field(torrent) == value)
    };
    quietly("a category", &|delta| {
        has(
            delta,
            |torrent| torrent.label.clone().unwrap_or_default(),
            "quiet",
        )
    });
    // 5.x itself forgets a new name in what it tells of changes, until something else happens to the torrent.
    if program.version().starts_with("4.") {
        client.tell("/torrents/rename", &format!("hash={MAGNET}&name=renamed"));
        client.wait_for("renamed", |client| {
            client
                .torrent(MAGNET)
                .is_some_and(|torrent| torrent["name"] == "renamed")
        });
        quietly("a name", &|delta| {
            has(delta, |torrent| torrent.name.clone(), "renamed")
        });
    }
    client.tell("/torrents/delete", &format!("hashes={second}&deleteFiles=false"));
    client.wait_for("gone", |client| client.torrent(&second).is_none());
    quietly("a removal", &|delta| delta.removed == [second.as_str()]);
}

fn hashes(torrents: &[Torrent]) -> Vec<&str> {
    torrents.iter().map(|torrent| torrent.hash.as_str()).collect()
}

fn a_wrong_password_does_not_get_the_address_banned(program: &Program) {
    let client = Client::start(program, 3);
    let config = support::config(&client.base_url(), USER, "wrong");
    let mut wrong = webapi_core::Session::new(config, Wire::real().0, support::StoppedClock);
    for _ in 0..20 {
        assert!(matches!(
            wrong.poll(None, Attention::Watched, &[]),
            Err(Error::Auth(_))
        ));
        assert!(matches!(wrong.version(), Err(Error::Auth(_))));
    }
    assert!(
        session(&client, PASSWORD).version().is_ok(),
        "the right password still gets in"
    );
}

fn a_ban_is_an_auth_error(program: &Program) {
    let client = Client::start(program, 2);
    for _ in 0..2 {
        assert!(matches!(session(&client, "wrong").version(), Err(Error::Auth(_))));
    }
    let banned = session(&client, PASSWORD).version();
    assert!(
        matches!(&banned, Err(Error::Auth(text)) if text.contains("bans")),
        "{banned:?}"
    );
}
