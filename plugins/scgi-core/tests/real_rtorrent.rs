//! Every operation against every generation of rTorrent, verified by asking rTorrent itself in words of its own.
//!
//! Without one the tests with it are skipped with a printed line; with CI=true they fail.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::float_cmp,
    reason = "a test that cannot go on has failed; values are exact"
)]

mod support;

use std::time::Duration;

use engine_model::{AddRequest, Attention, Command, RateLimits, Source, State, Torrent, TrackerStatus};
use qm_generations::{Program, each_generation};
use scgi_core::xml::Param;
use scgi_core::{Error, Subject};
use support::daemon::{Daemon, Listen, wait_for};
use support::metainfo;
use support::rig::{Rig, add, add_magnet, ask, home, with};

const UNKNOWN: &str = "0123456789abcdef0123456789abcdef01234567";

each_generation! { rtorrent:
    a_torrent_from_adding_to_removing,
    priorities_of_files,
    trackers,
    labels,
    limits_of_a_torrent,
    a_torrent_lets_go_of_its_data_and_follows_it,
    the_pointer_moves,
    the_session,
    adding,
    data_that_is_not_the_torrents_own_stays,
    quiet_polls,
}

fn a_torrent_from_adding_to_removing(program: &Program) {
    let (home_a, home_b) = (home(), home());
    let seeder = Daemon::start(program, home_a.path(), Listen::Tcp);
    let leecher = Daemon::start(program, home_b.path(), Listen::Unix);
    let (mut seeder, mut leecher) = (Rig::new(seeder), Rig::new(leecher));
    assert_eq!(leecher.client.health().unwrap(), program.version());

    let content = metainfo::noise(3_000_000, 1);
    let torrent = metainfo::single("film & <one>, \"two\"; $x.mkv", &content, 65_536);
    let hash = torrent.hash.clone();
    std::fs::write(seeder.daemon.downloads.join(&torrent.name), &content).unwrap();
    seeder
        .client
        .add(&add(&torrent, &seeder.daemon.downloads))
        .unwrap();
    assert_eq!(seeder.wait_for_state(&hash, State::Seeding).progress, 1.0);

    // Added with everything that rTorrent's command parser could trip over.
    let save_path = leecher
        .daemon
        .downloads
        .join(r"is not/there yet/a,b;c $cat=x \d ü (y) {z} #");
    let category = r"tv \, $execute.throw=false; (é)";
    let request = with(add(&torrent, &save_path), |options| {
        options.category = Some(category.to_owned());
        options.start_paused = true;
        options.download_limit = Some(200 * 1024);
    });
    assert_eq!(leecher.poll().len(), 0);
    leecher.client.add(&request).unwrap();
    leecher
        .client
        .add(&request)
        .expect("one that is there already is a success");
    assert_eq!(
        leecher.text("d.directory", &hash),
        save_path.display().to_string()
    );
    assert_eq!(
        leecher.text("d.custom1", &hash),
        "tv%20%5C%2C%20%24execute.throw%3Dfalse%3B%20%28%C3%A9%29"
    );
    let stopped = leecher.poll()[&hash].clone();
    assert_eq!(
        (stopped.state, stopped.name.as_str(), stopped.progress),
        (State::Stopped, torrent.name.as_str(), 0.0)
    );
    assert_eq!(
        (stopped.label.as_deref(), stopped.size),
        (Some(category), Some(3_000_000))
    );
    let file = save_path.join(&torrent.name);
    assert_eq!(stopped.content_path, file.display().to_string(), "never opened");
    assert_eq!(
        leecher.client.get(&hash.to_uppercase()).unwrap().unwrap(),
        stopped
    );

    let peer = format!("127.0.0.1:{}", seeder.daemon.peer_port);
    download_at_a_limit(&mut leecher, &hash, &peer);
    let file = save_path.join(&torrent.name);
    assert_eq!(leecher.known[&hash].content_path, file.display().to_string());
    assert_eq!(std::fs::read(&file).unwrap(), content);

    run_states(&mut leecher, &hash);

    // Removed with its data, and only that.
    std::fs::write(save_path.join("other"), b"x").unwrap();
    leecher.run(&hash, Command::Remove(true)).unwrap();
    assert!(leecher.text("d.hash", &hash).contains("info-hash"));
    assert!(!save_path.join(&torrent.name).exists() && save_path.join("other").exists());
    assert!(leecher.poll().is_empty());
    // Removed without its data.
    seeder.run(&hash, Command::Remove(false)).unwrap();
    assert!(seeder.poll().is_empty());
    assert!(seeder.daemon.downloads.join(&torrent.name).exists());
}

/// Downloads from one peer: slowly, at the limit it was added with, then without one.
fn download_at_a_limit(rig: &mut Rig, hash: &str, peer: &str) {
    rig.run(hash, Command::Start).unwrap();
    rig.wait_for_state(hash, State::Downloading);
    let upper = hash.to_uppercase();
    ask(
        &rig.daemon.endpoint,
        "add_peer",
        &[Param::Text(&upper), Param::Text(peer)],
    );
    wait_for("a peer", || {
        (!rig.client.peers(hash).unwrap().is_empty()).then_some(())
    });
    let peers = rig.client.peers(hash).unwrap();
    assert_eq!((peers[0].ip.as_str(), peers[0].progress), ("127.0.0.1", 1.0));
    let downloaded = || rig.client.get(hash).unwrap().unwrap().downloaded;
    let before = wait_for("the first piece", || {
        Some(downloaded()).filter(|bytes| *bytes > 0)
    });
    std::thread::sleep(Duration::from_secs(2));
    let after = downloaded();
    assert!(
        after - before < 1_000_000,
        "{before} to {after} bytes in 2 s at 200 KiB/s"
    );
    rig.run(hash, Command::DownloadLimit(0)).unwrap();
    let whole = rig.wait_for_state(hash, State::Seeding);
    assert_eq!(
        (whole.progress, whole.eta, whole.downloaded),
        (1.0, Some(0), 3_000_000)
    );
    assert!(whole.completed_at.is_some() && whole.added_at.is_some());
}

/// Stop, start, pause, resume, recheck, priorities and the like; each shows at the next poll.
fn run_states(rig: &mut Rig, hash: &str) {
    rig.run(hash, Command::Pause).unwrap();
    assert_eq!(rig.poll()[hash].state, State::Paused);
    assert_eq!((rig.int("d.state", hash), rig.int("d.is_active", hash)), (1, 0));
    rig.run(hash, Command::Resume).unwrap();
    assert_eq!(rig.poll()[hash].state, State::Seeding);
    assert_eq!(rig.int("d.is_active", hash), 1);
    rig.run(hash, Command::Pause).unwrap();
    rig.run(hash, Command::Start).unwrap();
    assert_eq!(rig.int("d.is_active", hash), 1, "start also ends a pause");
    rig.run(hash, Command::Stop).unwrap();
    assert_eq!(rig.poll()[hash].state, State::Stopped);
    assert_eq!((rig.int("d.state", hash), rig.int("d.is_open", hash)), (0, 0));
    rig.run(hash, Command::Resume).unwrap();
    assert_eq!(rig.wait_for_state(hash, State::Seeding).progress, 1.0);
    assert_eq!(rig.int("d.state", hash), 1, "resume also starts what was stopped");
    rig.run(hash, Command::Recheck).unwrap();
    rig.wait_for_state(hash, State::Seeding);
    rig.run(hash, Command::Stop).unwrap();
    rig.run(hash, Command::Recheck).unwrap();
    wait_for("the check to end", || {
        (rig.int("d.hashing", hash) == 0).then_some(())
    });
    rig.run(hash, Command::ForceStart(true)).unwrap();
    assert_eq!(rig.wait_for_state(hash, State::Seeding).priority, 3);
    rig.run(hash, Command::ForceStart(false)).unwrap();
    assert_eq!(rig.poll()[hash].priority, 2);
    for priority in [0, 1, 3, 2] {
        rig.run(hash, Command::TorrentPriority(priority)).unwrap();
        assert_eq!(rig.int("d.priority", hash), i64::from(priority));
        assert_eq!(rig.poll()[hash].priority, priority);
    }
}

/// A stopped torrent of three files, its hash, and the rTorrent that has it.
fn with_a_pack(program: &Program, home: &tempfile::TempDir) -> (Rig, String) {
    let mut rig = Rig::new(Daemon::start(program, home.path(), Listen::Tcp));
    let (a, b, c) = (vec![1; 40_000], vec![2; 100], vec![3; 70_000]);
    let pack = metainfo::folder(
        "Pack",
        &[("a.bin", &a), ("sub/b.bin", &b), ("sub/c.bin", &c)],
        16_384,
    );
    let downloads = rig.daemon.downloads.clone();
    rig.client
        .add(&with(add(&pack, &downloads), |options| {
            options.start_paused = true;
        }))
        .unwrap();
    assert_eq!(rig.poll()[&pack.hash].save_path, downloads.display().to_string());
    (rig, pack.hash)
}

fn priorities_of_files(program: &Program) {
    let home = home();
    let (rig, hash) = with_a_pack(program, &home);
    let listed = rig.client.files(&hash).unwrap();
    let paths: Vec<_> = listed
        .iter()
        .map(|file| (file.index, file.path.as_str(), file.size, file.priority))
        .collect();
    assert_eq!(
        paths,
        [
            (0, "Pack/a.bin", 40_000, 1),
            (1, "Pack/sub/b.bin", 100, 1),
            (2, "Pack/sub/c.bin", 70_000, 1)
        ]
    );
    for priority in [0, 2, 1] {
        rig.run(
            &hash,
            Command::FilePriority {
                indexes: vec![1],
                priority,
            },
        )
        .unwrap();
        assert_eq!(
            ask(
                &rig.daemon.endpoint,
                "f.priority",
                &[Param::Text(&format!("{}:f1", hash.to_uppercase()))]
            )
            .int(),
            i64::from(priority)
        );
        assert_eq!(rig.client.files(&hash).unwrap()[1].priority, priority);
    }
    let no_file = rig.run(
        &hash,
        Command::FilePriority {
            indexes: vec![9],
            priority: 1,
        },
    );
    assert_eq!(no_file, Err(Error::NotFound(Subject::File)));
    assert!(
        rig.run(
            &hash,
            Command::FilePriority {
                indexes: vec![1],
                priority: 3
            }
        )
        .is_err()
    );
}

fn trackers(program: &Program) {
    let home = home();
    let (rig, hash) = with_a_pack(program, &home);
    let url = "udp://127.0.0.1:9/announce?x=1&y=<2>";
    rig.run(&hash, Command::AddTracker(url.to_owned())).unwrap();
    let enabled = |rig: &Rig| {
        let trackers = rig.client.trackers(&hash).unwrap();
        trackers
            .into_iter()
            .filter(|tracker| tracker.url == url)
            .map(|tracker| tracker.status == TrackerStatus::Enabled)
            .collect::<Vec<_>>()
    };
    assert_eq!(enabled(&rig), [true]);
    rig.run(&hash, Command::RemoveTracker(url.to_owned())).unwrap();
    assert_eq!(enabled(&rig), [false]);
    rig.run(&hash, Command::AddTracker(url.to_owned())).unwrap();
    assert_eq!(
        enabled(&rig),
        [true],
        "added again it is switched on, not listed twice"
    );
    let no_tracker = rig.run(
        &hash,
        Command::RemoveTracker("http://127.0.0.1:9/other".to_owned()),
    );
    assert_eq!(no_tracker, Err(Error::NotFound(Subject::Tracker)));
}

fn labels(program: &Program) {
    let home = home();
    let (mut rig, hash) = with_a_pack(program, &home);
    let set = |rig: &Rig, label: &str| {
        let command = Command::SetLabel(label.to_owned());
        rig.client.run(&[hash.clone(), UNKNOWN.to_owned()], &command)
    };
    let label = |rig: &mut Rig| {
        // Labels of torrents at rest are read with a delay; whoever asks for one torrent gets it now.
        let listed = rig.client.get(&hash).unwrap().unwrap().label;
        wait_for("the poll to tell it", || {
            (rig.poll_for(Attention::Quiet)[&hash].label == listed).then_some(())
        });
        listed
    };
    for (text, field) in [
        ("TV shows", "TV%20shows"),
        (
            "$execute.throw=false; \"x\" \\ é",
            "%24execute.throw%3Dfalse%3B%20%22x%22%20%5C%20%C3%A9",
        ),
        ("films", "films"),
    ] {
        assert_eq!(set(&rig, text), [Ok(()), Err(Error::NotFound(Subject::Torrent))]);
        assert_eq!(rig.text("d.custom1", &hash), field, "asked directly");
        assert_eq!(label(&mut rig).as_deref(), Some(text));
    }
    assert_eq!(set(&rig, "")[0], Ok(()));
    assert_eq!(rig.text("d.custom1", &hash), "");
    assert_eq!(label(&mut rig), None);
    // What another interface wrote as it is.
    let target = hash.to_ascii_uppercase();
    let raw = [Param::Text(&target), Param::Text("as it is, 100 %")];
    ask(&rig.daemon.endpoint, "d.custom1.set", &raw);
    assert_eq!(label(&mut rig).as_deref(), Some("as it is, 100 %"));
    let tags = Command::AddTags(vec!["x".to_owned()]);
    let refused = rig.client.run(std::slice::from_ref(&hash), &tags);
    assert!(matches!(refused[..], [Err(Error::Unsupported(_))]), "{refused:?}");
}

fn limits_of_a_torrent(program: &Program) {
    let home = home();
    let (rig, hash) = with_a_pack(program, &home);
    let group = format!("qm_{hash}");
    let rate = |method: &str| {
        ask(
            &rig.daemon.endpoint,
            method,
            &[Param::Text(""), Param::Text(&group)],
        )
        .int()
    };
    rig.run(&hash, Command::Start).unwrap();
    wait_for("it to run", || (rig.int("d.is_active", &hash) == 1).then_some(()));
    rig.run(&hash, Command::UploadLimit(50_000)).unwrap();
    assert_eq!(
        (rig.text("d.throttle_name", &hash), rate("throttle.up.max")),
        (group.clone(), 49 * 1024)
    );
    assert_eq!(rig.int("d.is_active", &hash), 1, "it runs on");
    rig.run(&hash, Command::DownloadLimit(2048)).unwrap();
    assert_eq!(
        (rate("throttle.up.max"), rate("throttle.down.max")),
        (49 * 1024, 2048)
    );
    rig.run(&hash, Command::UploadLimit(0)).unwrap();
    assert_eq!(rate("throttle.up.max"), 1 << 30);
    assert_eq!(
        rig.client.rate_limits().unwrap(),
        RateLimits::default(),
        "the client as a whole stays unlimited"
    );
}

fn a_torrent_lets_go_of_its_data_and_follows_it(program: &Program) {
    let home = home();
    let daemon = Daemon::start(program, home.path(), Listen::Tcp);
    let mut rig = Rig::new(daemon);
    let (a, b) = (metainfo::noise(100_000, 3), metainfo::noise(50_000, 4));
    let pack = metainfo::folder("Pack", &[("a.bin", &a), ("sub/b.bin", &b)], 16_384);
    let single = metainfo::noise(90_000, 5);
    let file = metainfo::single("one.bin", &single, 16_384);
    let old = rig.daemon.downloads.clone();
    std::fs::create_dir_all(old.join("Pack/sub")).unwrap();
    std::fs::write(old.join("Pack/a.bin"), &a).unwrap();
    std::fs::write(old.join("Pack/sub/b.bin"), &b).unwrap();
    std::fs::write(old.join("one.bin"), &single).unwrap();
    for torrent in [&pack, &file] {
        rig.client.add(&add(torrent, &old)).unwrap();
        rig.wait_for_state(&torrent.hash, State::Seeding);
    }
    let mut places = [old.join("x"), old.join("y/z"), old.join("w"), old.clone()].into_iter();
    let mut from = old.clone();
    // Running, with a tracker's complaint that hides it; paused; stopped; running.
    for (before, message) in [
        (State::Seeding, "Tracker: [Failure reason \"error\"]"),
        (State::Paused, ""),
        (State::Stopped, ""),
        (State::Seeding, ""),
    ] {
        let to = places.next().unwrap();
        for (torrent, own) in [(&pack, "Pack"), (&file, "one.bin")] {
            let hash = &torrent.hash;
            match before {
                State::Paused => rig.run(hash, Command::Pause).unwrap(),
                State::Stopped => rig.run(hash, Command::Stop).unwrap(),
                _ => rig.run(hash, Command::Start).unwrap(),
            }
            let upper = hash.to_uppercase();
            let said = [Param::Text(&upper), Param::Text(message)];
            ask(&rig.daemon.endpoint, "d.message.set", &said);
            rig.run(hash, Command::Detach).unwrap();
            // Twice: an answer may get lost.
            rig.run(hash, Command::Detach).unwrap();
            assert_eq!((rig.int("d.state", hash), rig.int("d.is_open", hash)), (0, 0));
            std::fs::create_dir_all(&to).unwrap();
            std::fs::rename(from.join(own), to.join(own)).unwrap();
            let attach = Command::Attach(to.display().to_string());
            rig.run(hash, attach.clone()).unwrap();
            rig.run(hash, attach).unwrap();
            let runs = wait_for("it to be as it was", || {
                let runs = (rig.int("d.state", hash), rig.int("d.is_active", hash));
                let wanted = match before {
                    State::Paused => (1, 0),
                    State::Stopped => (0, 0),
                    _ => (1, 1),
                };
                (runs == wanted && rig.int("d.hashing", hash) == 0).then_some(runs)
            });
            assert_eq!(rig.int("d.complete", hash), 1, "{own} {before:?} {runs:?}");
            let torrent = rig.client.get(hash).unwrap().unwrap();
            assert_eq!(torrent.save_path, to.display().to_string());
            assert_eq!(torrent.content_path, to.join(own).display().to_string());
            assert!(!from.join(own).exists(), "nothing is made anew at the old place");
        }
        from = to;
    }
    for torrent in [&pack, &file] {
        rig.run(&torrent.hash, Command::Recheck).unwrap();
        assert_eq!(rig.wait_for_state(&torrent.hash, State::Seeding).progress, 1.0);
    }
    let refused = rig.run(&pack.hash, Command::Attach("relative".to_owned()));
    assert!(matches!(refused, Err(Error::Rejected(_))), "{refused:?}");
}

fn the_pointer_moves(program: &Program) {
    let home = home();
    let (mut rig, hash) = with_a_pack(program, &home);
    rig.run(&hash, Command::Start).unwrap();
    wait_for("it to run", || (rig.int("d.is_active", &hash) == 1).then_some(()));
    let destination = rig.daemon.downloads.join("else where");
    rig.run(&hash, Command::Move(destination.display().to_string()))
        .unwrap();
    assert_eq!(
        rig.text("d.directory", &hash),
        destination.join("Pack").display().to_string()
    );
    assert_eq!(rig.poll()[&hash].save_path, destination.display().to_string());
    wait_for("it to run there", || {
        (rig.int("d.is_active", &hash) == 1).then_some(())
    });
    for path in ["relative", "$cat=/tmp/x", "~/x", "", "/a\"b", "/a\nb"] {
        assert!(
            matches!(
                rig.run(&hash, Command::Move(path.to_owned())),
                Err(Error::Rejected(_))
            ),
            "{path:?}"
        );
    }
    let renamed = Err(Error::Unsupported(
        "This engine cannot rename torrents".to_owned(),
    ));
    assert_eq!(rig.run(&hash, Command::Rename("n".to_owned())), renamed);
}

fn the_session(program: &Program) {
    let home = home();
    let daemon = Daemon::start(program, home.path(), Listen::Unix);
    let mut rig = Rig::new(daemon);
    let stats = rig.client.session_stats().unwrap();
    assert_eq!(
        (stats.listen_port, stats.dht_enabled),
        (Some(rig.daemon.peer_port), false)
    );
    for (download, upload) in [
        (Some(100_000), Some(1)),
        (None, Some(600_000_000)),
        (Some(1 << 40), None),
        (None, None),
    ] {
        rig.client
            .set_rate_limits(RateLimits { download, upload })
            .unwrap();
        let now = |method: &str| ask(&rig.daemon.endpoint, method, &[Param::Text("")]).uint();
        let expected = |limit: Option<u64>| limit.map_or(0, |limit| limit.clamp(1024, 1 << 30) / 1024 * 1024);
        assert_eq!(now("throttle.global_down.max_rate"), expected(download));
        assert_eq!(now("throttle.global_up.max_rate"), expected(upload));
        let limits = rig.client.rate_limits().unwrap();
        assert_eq!(
            limits.download,
            download
                .filter(|limit| *limit < 1 << 30)
                .map(|limit| expected(Some(limit)))
        );
        rig.poll();
    }
    // What names no torrent.
    for hash in [UNKNOWN, "abc", "", "main"] {
        let commands = [
            Command::Start,
            Command::Stop,
            Command::Recheck,
            Command::Remove(false),
            Command::Remove(true),
            Command::Move("/tmp/x".to_owned()),
            Command::TorrentPriority(1),
            Command::UploadLimit(5),
            Command::FilePriority {
                indexes: vec![0],
                priority: 1,
            },
            Command::AddTracker("http://x/".to_owned()),
            Command::RemoveTracker("http://x/".to_owned()),
        ];
        for command in commands {
            assert_eq!(
                rig.run(hash, command.clone()),
                Err(Error::NotFound(Subject::Torrent)),
                "{hash:?} {command:?}"
            );
        }
        assert_eq!(rig.client.get(hash).unwrap(), None);
        assert_eq!(
            rig.client.files(hash).unwrap_err(),
            Error::NotFound(Subject::Torrent)
        );
        assert_eq!(
            rig.client.peers(hash).unwrap_err(),
            Error::NotFound(Subject::Torrent)
        );
        assert_eq!(
            rig.client.trackers(hash).unwrap_err(),
            Error::NotFound(Subject::Torrent)
        );
    }
}

fn adding(program: &Program) {
    let home = home();
    let daemon = Daemon::start(program, home.path(), Listen::Tcp);
    let mut rig = Rig::new(daemon);
    let downloads = rig.daemon.downloads.clone();

    // A magnet keeps its options until the metadata is there.
    let hash = "ab".repeat(20);
    let magnets = downloads.join("magnets");
    let link = format!("magnet:?xt=urn:btih:{hash}&dn=a+b&tr=http%3A%2F%2F127.0.0.1%3A9%2F");
    let magnet = with(add_magnet(&hash, &link, &magnets), |options| {
        options.category = Some("films, \\ new".to_owned());
    });
    rig.client.add(&magnet).unwrap();
    assert_eq!(rig.text("d.custom1", &hash), "films%2C%20%5C%20new");
    assert_eq!(rig.poll()[&hash].state, State::Downloading);
    let path = rig.client.add(&add_magnet(UNKNOWN, "/etc/passwd", &magnets));
    assert!(matches!(path, Err(Error::Rejected(_))), "{path:?}");
    // Without a tracker and without DHT some versions drop it without a word.
    let link = format!("magnet:?xt=urn:btih:{UNKNOWN}");
    let refused = rig.client.add(&add_magnet(UNKNOWN, &link, &magnets)).err();
    assert!(matches!(&refused, None | Some(Error::Rejected(_))), "{refused:?}");
    assert_eq!(rig.poll().contains_key(UNKNOWN), refused.is_none());

    // Larger than rTorrent takes unasked.
    let names: Vec<String> = (0..6000).map(|number| format!("{number:0100}")).collect();
    let files: Vec<(&str, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), b"x".as_slice()))
        .collect();
    let large = metainfo::folder("large", &files, 16_384);
    assert!(large.bytes.len() > 700_000);
    rig.client
        .add(&with(add(&large, &downloads), |options| {
            options.start_paused = true;
        }))
        .unwrap();
    assert_eq!(rig.text("d.name", &large.hash), "large");

    // Never executed.
    let small = metainfo::single("small", b"abc", 16_384);
    let proof = home.path().join("executed");
    let text = metainfo::single("text", b"text", 16_384);
    let category = format!("$execute.throw=touch,{}", proof.display());
    let request = with(add(&text, &downloads), |options| {
        options.category = Some(category.clone());
        options.start_paused = true;
    });
    rig.client.add(&request).unwrap();
    assert_eq!(rig.poll()[&text.hash].label, Some(category));
    for path in [
        format!("$execute.throw=touch,{}", proof.display()),
        "/x\",execute.throw=touch".to_owned(),
    ] {
        let refused = rig.client.add(&with(add(&small, &downloads), |options| {
            options.save_path = Some(path);
        }));
        assert!(matches!(refused, Err(Error::Rejected(_))), "{refused:?}");
    }
    assert!(!proof.exists() && rig.text("d.hash", &small.hash).contains("info-hash"));

    // Examined and refused.
    let garbage = AddRequest {
        source: Source::Metainfo(b"d4:infod4:name1:xee".to_vec()),
        ..add(&small, &downloads)
    };
    assert!(matches!(rig.client.add(&garbage), Err(Error::Rejected(_))));
}

fn data_that_is_not_the_torrents_own_stays(program: &Program) {
    let home = home();
    let daemon = Daemon::start(program, home.path(), Listen::Tcp);
    let rig = Rig::new(daemon);
    let downloads = rig.daemon.downloads.clone();
    let files: [(&str, &[u8]); 2] = [("a", &[1; 100]), ("b", &[2; 100])];
    let pack = metainfo::folder("Pack", &files, 16_384);
    rig.client.add(&add(&pack, &downloads)).unwrap();
    wait_for("its folder", || downloads.join("Pack").exists().then_some(()));
    let keep = downloads.join("Pack/keep.me");
    let other = metainfo::single("other", b"abc", 16_384);
    rig.client
        .add(&with(add(&other, &downloads.join("Pack")), |options| {
            options.start_paused = true;
        }))
        .unwrap();
    std::fs::write(&keep, b"x").unwrap();
    let refused = rig.run(&pack.hash, Command::Remove(true));
    assert!(
        matches!(refused, Err(Error::Rejected(_))),
        "another torrent saves there: {refused:?}"
    );
    assert!(keep.exists());
    assert_eq!(rig.text("d.name", &pack.hash), "Pack", "nothing was removed");
    rig.run(&other.hash, Command::Remove(true)).unwrap();

    // A shared root made the torrent's own by the client's other users.
    let upper = pack.hash.to_uppercase();
    rig.run(&pack.hash, Command::Stop).unwrap();
    ask(
        &rig.daemon.endpoint,
        "d.directory_base.set",
        &[Param::Text(&upper), Param::Text(&downloads.display().to_string())],
    );
    rig.run(&pack.hash, Command::Start).unwrap();
    wait_for("the new place", || {
        (rig.text("d.base_path", &pack.hash) == downloads.display().to_string()).then_some(())
    });
    let refused = rig.run(&pack.hash, Command::Remove(true));
    assert!(matches!(refused, Err(Error::Rejected(_))), "{refused:?}");
    assert!(keep.exists());

    // A link is removed, not what it points to.
    let target = home.path().join("elsewhere");
    std::fs::create_dir_all(&target).unwrap();
    std::fs::write(target.join("keep.me"), b"x").unwrap();
    let linked = metainfo::folder("Linked", &files, 16_384);
    rig.client.add(&add(&linked, &downloads)).unwrap();
    let link = downloads.join("Linked");
    wait_for("its folder", || link.join("b").exists().then_some(()));
    rig.run(&linked.hash, Command::Stop).unwrap();
    std::fs::remove_dir_all(&link).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    rig.run(&linked.hash, Command::Remove(true)).unwrap();
    assert!(!link.exists() && target.join("keep.me").exists());
}

/// Quiet polls while another program changes things.
fn quiet_polls(program: &Program) {
    let home = home();
    let (mut rig, hash) = with_a_pack(program, &home);
    rig.poll();
    let target = hash.to_uppercase();
    let quietly = |rig: &mut Rig, what: &str, done: &dyn Fn(&Torrent) -> bool| {
        wait_for(what, || {
            rig.poll_for(Attention::Quiet)
                .get(&hash)
                .filter(|torrent| done(torrent))
                .map(drop)
        });
    };
    ask(&rig.daemon.endpoint, "d.stop", &[Param::Text(&target)]);
    ask(&rig.daemon.endpoint, "d.close", &[Param::Text(&target)]);
    quietly(&mut rig, "the stop", &|torrent| torrent.state == State::Stopped);
    let label = [Param::Text(&target), Param::Text("quiet")];
    ask(&rig.daemon.endpoint, "d.custom1.set", &label);
    quietly(&mut rig, "the label", &|torrent| {
        torrent.label.as_deref() == Some("quiet")
    });
    ask(&rig.daemon.endpoint, "d.start", &[Param::Text(&target)]);
    quietly(&mut rig, "the start", &|torrent| {
        torrent.state == State::Downloading
    });
    // Whoever looks gets the label at once.
    let label = [Param::Text(&target), Param::Text("watched")];
    ask(&rig.daemon.endpoint, "d.custom1.set", &label);
    assert_eq!(rig.poll()[&hash].label.as_deref(), Some("watched"));
    ask(&rig.daemon.endpoint, "d.erase", &[Param::Text(&target)]);
    wait_for("the end", || {
        rig.poll_for(Attention::Quiet).is_empty().then_some(())
    });
}
