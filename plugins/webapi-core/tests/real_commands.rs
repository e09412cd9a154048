//! Every command in every generation of qbittorrent-nox, seen in the client itself: right after it, after a restart of the client, and
//! with another torrent that shares the data and must stay as it was.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on ends"
)]

mod support;

use engine_model::{AddOptions, AddRequest, Command, Limit, QueueMove, ShareLimits, Source};
use qm_generations::{Program, each_generation};
use serde_json::{Value, json};
use support::choices::REPLACED;
use support::client::{Client, PASSWORD, USER};
use support::torrents::{Made, TRACKER, two_files, two_files_from};
use support::wire::Wire;

each_generation! { qbittorrent:
    every_command_shows_in_the_client,
}

/// Fields of the other torrent that no command to the first may change.
const KEPT: [&str; 14] = [
    "name",
    "save_path",
    "download_path",
    "category",
    "tags",
    "seq_dl",
    "f_l_piece_prio",
    "super_seeding",
    "up_limit",
    "dl_limit",
    "ratio_limit",
    "seeding_time_limit",
    "auto_tmm",
    "force_start",
];

/// Sight of the client: the torrent's row, and what it is asked for beside.
type Shows = fn(&Sight<'_>) -> bool;

struct Sight<'a> {
    client: &'a Client,
    hash: &'a str,
    home: &'a str,
}

impl Sight<'_> {
    fn row(&self) -> Value {
        self.client.torrent(self.hash).expect("it is listed")
    }

    fn list(&self, what: &str) -> Value {
        self.client
            .ask(&format!("/torrents/{what}?hash={}", self.hash))
            .json()
    }

    fn urls(&self) -> Vec<String> {
        let list = self.list("trackers");
        let urls = list.as_array().expect("a list").iter();
        urls.map(|tracker| tracker["url"].as_str().expect("a URL").to_owned())
            .filter(|url| !url.starts_with("**"))
            .collect()
    }
}

struct Row {
    name: &'static str,
    command: Command,
    shows: Shows,
    /// The client still shows it after a restart.
    lasts: bool,
}

fn row(name: &'static str, command: Command, shows: Shows) -> Row {
    Row {
        name,
        command,
        shows,
        lasts: true,
    }
}

/// All commands, in an order in which none undoes what another needs.
fn rows(home: &str) -> Vec<Row> {
    let mut rows = rows_of_choices();
    rows.extend(rows_of_content());
    rows.extend(rows_of_trackers_and_paths(home));
    rows.extend(rows_of_standing());
    rows
}

/// Labels, tags, limits and the order of pieces.
fn rows_of_choices() -> Vec<Row> {
    let limits = ShareLimits {
        ratio: Limit::At(2.5),
        seeding_seconds: Limit::At(5400),
        ..ShareLimits::default()
    };
    vec![
        row("label", Command::SetLabel("films".into()), |see| {
            see.row()["category"] == "films"
        }),
        row(
            "add tags",
            Command::AddTags(vec!["x".into(), "y".into()]),
            |see| see.row()["tags"] == "x, y",
        ),
        row("remove tags", Command::RemoveTags(vec!["x".into()]), |see| {
            see.row()["tags"] == "y"
        }),
        row("sequential", Command::Sequential(true), |see| {
            see.row()["seq_dl"] == true
        }),
        row("first and last pieces", Command::FirstLastPiece(true), |see| {
            see.row()["f_l_piece_prio"] == true
        }),
        // Versions forget it of what is not complete.
        Row {
            lasts: false,
            ..row("super-seeding", Command::SuperSeeding(true), |see| {
                see.row()["super_seeding"] == true
            })
        },
        row("upload limit", Command::UploadLimit(10_240), |see| {
            see.row()["up_limit"] == 10_240
        }),
        row("download limit", Command::DownloadLimit(20_480), |see| {
            see.row()["dl_limit"] == 20_480
        }),
        row("limits of sharing", Command::ShareLimits(limits), |see| {
            let row = see.row();
            row["ratio_limit"] == 2.5 && row["seeding_time_limit"] == 90
        }),
    ]
}

/// Names and priorities.
fn rows_of_content() -> Vec<Row> {
    vec![
        row("name", Command::Rename("new name".into()), |see| {
            see.row()["name"] == "new name"
        }),
        row(
            "name of a file",
            Command::RenameFile {
                index: 0,
                name: "c.bin".into(),
            },
            |see| see.list("files")[0]["name"] == "alpha/c.bin",
        ),
        row(
            "name of a folder",
            Command::RenameFolder {
                old_path: "alpha/sub".into(),
                new_path: "alpha/other".into(),
            },
            |see| see.list("files")[1]["name"] == "alpha/other/b.bin",
        ),
        row(
            "priorities of files",
            Command::FilePriority {
                indexes: vec![0, 1],
                priority: 2,
            },
            |see| {
                see.list("files")
                    .as_array()
                    .expect("files")
                    .iter()
                    .all(|file| file["priority"] == 6)
            },
        ),
    ]
}

fn rows_of_trackers_and_paths(home: &str) -> Vec<Row> {
    vec![
        row(
            "a tracker more",
            Command::AddTracker("http://127.0.0.1:9/more".into()),
            |see| see.urls() == [TRACKER, "http://127.0.0.1:9/more"],
        ),
        row(
            "another tracker",
            Command::ReplaceTracker {
                old_url: TRACKER.into(),
                new_url: REPLACED.into(),
            },
            |see| see.urls().contains(&REPLACED.to_owned()) && !see.urls().contains(&TRACKER.to_owned()),
        ),
        row(
            "a tracker less",
            Command::RemoveTracker("http://127.0.0.1:9/more".into()),
            |see| see.urls() == [REPLACED],
        ),
        row(
            "path of incomplete data",
            Command::DownloadPath(Some(format!("{home}/incomplete"))),
            |see| see.row()["download_path"] == format!("{}/incomplete", see.home),
        ),
        row("save path", Command::Move(format!("{home}/moved")), |see| {
            see.row()["save_path"] == format!("{}/moved", see.home)
        }),
    ]
}

/// Queue, bans, and whether it runs.
fn rows_of_standing() -> Vec<Row> {
    vec![
        row("first in the queue", Command::Queue(QueueMove::Top), |see| {
            see.row()["priority"] == 1
        }),
        row("last in the queue", Command::Queue(QueueMove::Bottom), |see| {
            see.row()["priority"] == 2
        }),
        row("up in the queue", Command::Queue(QueueMove::Up), |see| {
            see.row()["priority"] == 1
        }),
        row("down in the queue", Command::Queue(QueueMove::Down), |see| {
            see.row()["priority"] == 2
        }),
        row(
            "banned peers",
            Command::BanPeers(vec!["192.0.2.3:1".into()]),
            |see| see.client.ask("/app/preferences").json()["banned_IPs"] == "192.0.2.3",
        ),
        row("force start", Command::ForceStart(true), |see| {
            see.row()["force_start"] == true
        }),
        // 4.5 forgets it when it ends right after.
        Row {
            lasts: false,
            ..row("start", Command::Start, |see| {
                let row = see.row();
                row["force_start"] == false && !is_halted(&row)
            })
        },
        row("stop", Command::Stop, |see| is_halted(&see.row())),
        // Its paths are those of its label from here on.
        row("the client's own paths", Command::AutoManage(true), |see| {
            see.row()["auto_tmm"] == true
        }),
    ]
}

fn is_halted(row: &Value) -> bool {
    let state = row["state"].as_str().expect("a state");
    state.starts_with("paused") || state.starts_with("stopped")
}

fn every_command_shows_in_the_client(program: &Program) {
    let mut client = Client::start(program, 0);
    let home = client.home();
    let (ours, other) = (two_files("alpha"), two_files_from("alpha", "another tracker"));
    client.tell("/app/setPreferences", "json=%7B%22queueing_enabled%22%3Atrue%7D");
    let mut session = support::session(Wire::real().0, &client.base_url(), USER, PASSWORD);
    for made in [&ours, &other] {
        session
            .add(&stopped(made, &format!("{home}/data")))
            .expect("taken");
        client.wait_for("listed", |client| client.torrent(&made.hash).is_some());
    }
    let kept = |client: &Client| {
        let row = client.torrent(&other.hash).expect("it is listed");
        KEPT.map(|field| row[field].clone())
    };
    let before = kept(&client);
    for row in rows(&home) {
        println!("{}", row.name);
        let outcome = session.run(std::slice::from_ref(&ours.hash), &row.command);
        assert_eq!(outcome.expect("it was tried")[0].error, None, "{}", row.name);
        let shows = |client: &Client| {
            (row.shows)(&Sight {
                client,
                hash: &ours.hash,
                home: &home,
            })
        };
        client.wait_for(row.name, shows);
        assert_eq!(kept(&client), before, "{}: the other torrent", row.name);
        if row.lasts {
            client.restart();
            client.wait_for(&format!("{} after a restart", row.name), |client| {
                client.torrent(&ours.hash).is_some() && shows(client)
            });
        }
    }
    assert_eq!(kept(&client), before, "the other torrent in the end");
    assert_eq!(session.banned_peers(), Ok(vec!["192.0.2.3".to_owned()]));
    let preferences: Value =
        serde_json::from_str(&session.preferences().expect("preferences")).expect("JSON");
    assert_eq!(preferences["queueing"], json!(true));
}

fn stopped(made: &Made, save_path: &str) -> AddRequest {
    AddRequest {
        hash: made.hash.clone(),
        source: Source::Metainfo(made.bytes.clone()),
        options: AddOptions {
            save_path: Some(save_path.to_owned()),
            start_paused: true,
            ..AddOptions::default()
        },
    }
}
