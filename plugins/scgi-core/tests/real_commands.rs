//! Every command in every generation of rTorrent, seen in rTorrent itself: right after it, after a restart, and with another torrent
//! that shares the data and must stay as it was.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use engine_model::{Command, Error, Limit, QueueMove, ShareLimits, State};
use qm_generations::{Program, each_generation};
use scgi_core::xml::{Param, Value};
use support::daemon::{Daemon, Listen, wait_for};
use support::metainfo::{self, Metainfo};
use support::rig::{Rig, add, ask, home, with};

each_generation! { rtorrent:
    every_command_shows_in_the_client,
    a_banned_peer_is_cut_off,
}

const FIRST: &str = "http://127.0.0.1:9/announce";
const OTHER: &str = "http://127.0.0.1:9/other?a=%20&b";

type Shows = fn(&Rig, &str) -> bool;

struct Row {
    name: &'static str,
    command: Command,
    shows: Shows,
}

fn row(name: &'static str, command: Command, shows: Shows) -> Row {
    Row { name, command, shows }
}

/// Values of a column of a torrent's files or trackers, as texts.
fn column(rig: &Rig, hash: &str, method: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let target = hash.to_uppercase();
    let mut params = vec![Param::Text(&target), Param::Text("")];
    params.extend(columns.iter().map(|column| Param::Text(column)));
    let list = ask(&rig.daemon.endpoint, method, &params);
    let texts = |row: &Value| row.array().iter().map(Value::text).collect();
    list.array().iter().map(texts).collect()
}

/// Trackers that are on.
fn urls(rig: &Rig, hash: &str) -> Vec<String> {
    let rows = column(rig, hash, "t.multicall", &["t.is_enabled=", "t.url="]);
    rows.into_iter()
        .filter(|row| row[0] == "1" && row[1].starts_with("http"))
        .map(|mut row| row.remove(1))
        .collect()
}

fn rows(moved: &str) -> Vec<Row> {
    vec![
        row(
            "label",
            Command::SetLabel("films & more".to_owned()),
            |rig, hash| rig.text("d.custom1", hash) == "films%20%26%20more",
        ),
        row("super-seeding", Command::SuperSeeding(true), |rig, hash| {
            rig.text("d.connection_seed", hash) == "initial_seed"
        }),
        row("no super-seeding", Command::SuperSeeding(false), |rig, hash| {
            rig.text("d.connection_seed", hash) == "seed"
        }),
        row("priority", Command::TorrentPriority(1), |rig, hash| {
            rig.int("d.priority", hash) == 1
        }),
        row("force start", Command::ForceStart(true), |rig, hash| {
            rig.int("d.priority", hash) == 3 && rig.int("d.state", hash) == 1
        }),
        row("no force start", Command::ForceStart(false), |rig, hash| {
            rig.int("d.priority", hash) == 2 && rig.int("d.state", hash) == 1
        }),
        row("stop", Command::Stop, |rig, hash| rig.int("d.state", hash) == 0),
        row(
            "priorities of files",
            Command::FilePriority {
                indexes: vec![0, 1],
                priority: 2,
            },
            |rig, hash| column(rig, hash, "f.multicall", &["f.priority="]) == [["2"], ["2"]],
        ),
        row(
            "a tracker more",
            Command::AddTracker("http://127.0.0.1:9/more".to_owned()),
            |rig, hash| urls(rig, hash).contains(&"http://127.0.0.1:9/more".to_owned()),
        ),
        row(
            "a tracker less",
            Command::RemoveTracker("http://127.0.0.1:9/more".to_owned()),
            |rig, hash| urls(rig, hash) == [FIRST],
        ),
        row(
            "another tracker",
            Command::ReplaceTracker {
                old_url: FIRST.to_owned(),
                new_url: OTHER.to_owned(),
            },
            |rig, hash| urls(rig, hash) == [OTHER],
        ),
        row(
            "the first tracker again",
            Command::ReplaceTracker {
                old_url: OTHER.to_owned(),
                new_url: FIRST.to_owned(),
            },
            |rig, hash| urls(rig, hash) == [FIRST],
        ),
        row("save path", Command::Move(moved.to_owned()), |rig, hash| {
            rig.text("d.directory", hash).ends_with("/moved/Pack")
        }),
        row("upload limit", Command::UploadLimit(20_480), |rig, hash| {
            rig.text("d.throttle_name", hash) == format!("qm_{hash}")
        }),
    ]
}

fn pack() -> Metainfo {
    let files: [(&str, &[u8]); 2] = [("a.bin", &[1; 16_000]), ("sub/b.bin", &[2; 100])];
    metainfo::folder("Pack", &files, 16_384)
}

/// The same files as another torrent.
fn other_pack() -> Metainfo {
    let files: [(&str, &[u8]); 2] = [("a.bin", &[1; 16_000]), ("sub/b.bin", &[2; 100])];
    metainfo::folder("Pack", &files, 32_768)
}

/// Everything of the other torrent that a command to the first could change.
fn kept(rig: &Rig, hash: &str) -> Vec<String> {
    let texts = [
        "d.custom1",
        "d.connection_seed",
        "d.directory",
        "d.name",
        "d.throttle_name",
    ];
    let numbers = ["d.priority", "d.state", "d.is_active"];
    texts
        .iter()
        .map(|method| rig.text(method, hash))
        .chain(numbers.iter().map(|method| rig.int(method, hash).to_string()))
        .chain(urls(rig, hash))
        .collect()
}

fn every_command_shows_in_the_client(program: &Program) {
    let home = home();
    let mut rig = Rig::new(Daemon::start(program, home.path(), Listen::Unix));
    let (ours, other) = (pack(), other_pack());
    let folder = rig.daemon.downloads.join("Pack/sub");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(rig.daemon.downloads.join("Pack/a.bin"), [1; 16_000]).unwrap();
    std::fs::write(folder.join("b.bin"), [2; 100]).unwrap();
    rig.client.add(&add(&ours, &rig.daemon.downloads)).unwrap();
    let stopped = with(add(&other, &rig.daemon.downloads), |options| {
        options.start_paused = true;
    });
    rig.client.add(&stopped).unwrap();
    rig.wait_for_state(&ours.hash, State::Seeding);
    rig.wait_for_state(&other.hash, State::Stopped);
    let before = kept(&rig, &other.hash);
    let moved = home.path().join("moved").display().to_string();
    for row in rows(&moved) {
        println!("{}", row.name);
        rig.run(&ours.hash, row.command).unwrap();
        let look = |rig: &Rig| (row.shows)(rig, &ours.hash).then_some(());
        wait_for(row.name, || look(&rig));
        assert_eq!(kept(&rig, &other.hash), before, "{}: the other torrent", row.name);
        rig.daemon.end();
        rig = Rig::new(Daemon::start(program, home.path(), Listen::Unix));
        wait_for(&format!("{} after a restart", row.name), || look(&rig));
    }
    assert_eq!(kept(&rig, &other.hash), before, "the other torrent in the end");
    rig.run(&ours.hash, Command::Reannounce).unwrap();
    let exported = rig.client.export_metainfo(&ours.hash).unwrap();
    let at = |bytes: &[u8]| bytes.windows(6).position(|part| part == b"4:info").unwrap();
    let info = &ours.bytes[at(&ours.bytes)..ours.bytes.len() - 1];
    assert!(
        exported[at(&exported)..].starts_with(info),
        "the same info dictionary"
    );
    refused(&rig, &ours.hash);
}

/// Commands that rTorrent has no means for: each is refused in words, none is a success without effect.
fn refused(rig: &Rig, hash: &str) {
    for command in [
        Command::Queue(QueueMove::Top),
        Command::Sequential(true),
        Command::FirstLastPiece(true),
        Command::ShareLimits(ShareLimits {
            ratio: Limit::At(1.0),
            ..ShareLimits::default()
        }),
        Command::DownloadPath(None),
        Command::AutoManage(true),
        Command::Rename("x".to_owned()),
        Command::RenameFolder {
            old_path: "Pack".to_owned(),
            new_path: "x".to_owned(),
        },
        Command::AddTags(vec!["x".to_owned()]),
    ] {
        let outcome = rig.run(hash, command.clone());
        assert!(
            matches!(outcome, Err(Error::Unsupported(_))),
            "{command:?}: {outcome:?}"
        );
    }
}

fn a_banned_peer_is_cut_off(program: &Program) {
    let (home_a, home_b) = (home(), home());
    let mut seeder = Rig::new(Daemon::start(program, home_a.path(), Listen::Tcp));
    let leecher = Rig::new(Daemon::start(program, home_b.path(), Listen::Unix));
    let content = metainfo::noise(3_000_000, 1);
    let torrent = metainfo::single("film.mkv", &content, 65_536);
    let hash = torrent.hash.as_str();
    std::fs::write(seeder.daemon.downloads.join("film.mkv"), &content).unwrap();
    seeder
        .client
        .add(&add(&torrent, &seeder.daemon.downloads))
        .unwrap();
    seeder.wait_for_state(hash, State::Seeding);
    let slow = with(add(&torrent, &leecher.daemon.downloads), |options| {
        options.download_limit = Some(20_480);
    });
    leecher.client.add(&slow).unwrap();
    let peer = format!("127.0.0.1:{}", seeder.daemon.peer_port);
    let upper = hash.to_uppercase();
    let connect = || {
        let params = [Param::Text(&upper), Param::Text(&peer)];
        ask(&leecher.daemon.endpoint, "add_peer", &params);
    };
    connect();
    let peers = || leecher.client.peers(hash).unwrap();
    wait_for("a peer", || (!peers().is_empty()).then_some(()));
    leecher
        .run(hash, Command::BanPeers(vec!["127.0.0.1:1".to_owned()]))
        .unwrap();
    assert_eq!(peers().len(), 1, "another one is meant");
    leecher.run(hash, Command::BanPeers(vec![peer.clone()])).unwrap();
    wait_for("its leaving", || peers().is_empty().then_some(()));
    connect();
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert!(peers().is_empty(), "it does not come back");
}
