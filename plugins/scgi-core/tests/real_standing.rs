//! Trackers, files that are left out, and paths of files, as every generation of rTorrent tells them.
//!
//! Without one the tests are skipped with a printed line; with CI=true they fail.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "a test that cannot go on has failed; values are exact"
)]

mod support;

use std::path::Path;

use engine_model::{Command, Standing, State, Torrent};
use qm_generations::{Program, Suite, each_generation};
use support::announce;
use support::daemon::{Daemon, Listen, wait_for};
use support::metainfo::{self, Metainfo};
use support::rig::{Rig, add, home};

each_generation! { rtorrent:
    one_tracker_that_works_is_enough,
    a_download_of_some_files_completes,
    files_lie_below_the_save_path,
}

fn one_tracker_that_works_is_enough(program: &Program) {
    let home = home();
    let mut rig = Rig::new(Daemon::start(program, home.path(), Listen::Unix));
    let at = announce::serve();
    let downloads = rig.daemon.downloads.clone();
    let put = |name: &str, paths: &[&str]| {
        let urls: Vec<String> = paths.iter().map(|path| format!("{at}/{path}")).collect();
        let torrent = metainfo::single(name, &metainfo::noise(1000, 1), 16_384).announced(&urls);
        rig.client.add(&add(&torrent, &downloads)).unwrap();
        torrent.hash
    };
    let works = put("works", &["internal-error", "working"]);
    let lost = put("lost", &["unregistered-torrent"]);
    let fails = put("fails", &["internal-error"]);
    let alone = put("alone", &[]);
    let told = |rig: &mut Rig, hash: &str, standing: Standing| -> Torrent {
        wait_for(&format!("{standing:?}"), || {
            let known = rig.poll().get(hash).cloned();
            known.filter(|torrent| {
                torrent.tracker_standing == Some(standing) && torrent.tracker_host.is_some()
            })
        })
    };
    let torrent = told(&mut rig, &works, Standing::Working);
    assert_eq!(
        (torrent.state, torrent.tracker_message),
        (State::Downloading, None)
    );
    assert_eq!(torrent.tracker_host.as_deref(), Some("127.0.0.1"));
    let torrent = told(&mut rig, &lost, Standing::Unregistered);
    assert_eq!(torrent.state, State::Error);
    assert_eq!(torrent.tracker_message.as_deref(), Some("unregistered torrent"));
    let torrent = told(&mut rig, &fails, Standing::Failing);
    assert_eq!(
        (torrent.state, torrent.tracker_message.as_deref()),
        (State::Downloading, Some("internal error"))
    );
    let torrent = rig.poll()[&alone].clone();
    assert_eq!((torrent.tracker_standing, torrent.tracker_host), (None, None));
    for hash in [&works, &lost, &fails, &alone] {
        let one = rig.client.get(hash).unwrap().unwrap();
        let listed = &rig.known[hash];
        assert_eq!(
            (one.tracker_standing, &one.tracker_host),
            (listed.tracker_standing, &listed.tracker_host)
        );
    }
}

fn a_download_of_some_files_completes(program: &Program) {
    let (home_a, home_b) = (home(), home());
    let seeder = Daemon::start(program, home_a.path(), Listen::Tcp);
    let leecher = Daemon::start(program, home_b.path(), Listen::Unix);
    let (mut seeder, mut leecher) = (Rig::new(seeder), Rig::new(leecher));
    let (a, b) = (metainfo::noise(131_072, 1), metainfo::noise(262_144, 2));
    let torrent = metainfo::folder("Pack", &[("a.bin", &a), ("sub/b.bin", &b)], 32_768);
    let folder = seeder.daemon.downloads.join("Pack/sub");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("b.bin"), &b).unwrap();
    std::fs::write(seeder.daemon.downloads.join("Pack/a.bin"), &a).unwrap();
    seeder
        .client
        .add(&add(&torrent, &seeder.daemon.downloads))
        .unwrap();
    seeder.wait_for_state(&torrent.hash, State::Seeding);

    let hash = torrent.hash.clone();
    let mut request = add(&torrent, &leecher.daemon.downloads);
    request.options.start_paused = true;
    leecher.client.add(&request).unwrap();
    let skip = Command::FilePriority {
        indexes: vec![1],
        priority: 0,
    };
    leecher.run(&hash, skip).unwrap();
    // What is wanted is reckoned once the files are open.
    leecher.run(&hash, Command::Start).unwrap();
    let chosen = wait_for("the size to be that of what is wanted", || {
        leecher
            .poll()
            .get(&hash)
            .filter(|torrent| torrent.size == Some(131_072))
            .cloned()
    });
    assert_eq!((chosen.progress, chosen.state), (0.0, State::Downloading));
    let peer = format!("127.0.0.1:{}", seeder.daemon.peer_port);
    let done = wait_for("it to complete", || {
        leecher.text_of("add_peer", &hash, &peer);
        leecher
            .poll()
            .get(&hash)
            .filter(|torrent| torrent.state == State::Seeding)
            .cloned()
    });
    assert_eq!(
        (done.progress, done.eta, done.downloaded),
        (1.0, Some(0), 131_072)
    );
    assert_eq!(
        leecher.int("d.complete", &hash),
        0,
        "rTorrent itself waits for the rest"
    );
    assert_eq!(
        std::fs::read(leecher.daemon.downloads.join("Pack/a.bin")).unwrap(),
        a
    );

    // What is wanted after all is still to come.
    leecher
        .run(
            &hash,
            Command::FilePriority {
                indexes: vec![1],
                priority: 1,
            },
        )
        .unwrap();
    let whole = wait_for("the rest to be wanted", || {
        leecher
            .poll()
            .get(&hash)
            .filter(|torrent| torrent.size == Some(393_216))
            .cloned()
    });
    assert_eq!(
        whole.state,
        if whole.progress < 1.0 {
            State::Downloading
        } else {
            State::Seeding
        }
    );
}

/// Samples of all forms: one file, a folder, folders in it, names outside ASCII and with digits that look like escapes.
fn samples(is_old: bool) -> Vec<(Metainfo, Vec<String>)> {
    let noise = metainfo::noise(500, 3);
    let single = |name: &str| (metainfo::single(name, &noise, 16_384), vec![name.to_owned()]);
    let folder = |name: &str, files: &[&str]| {
        let contents: Vec<(&str, &[u8])> = files.iter().map(|file| (*file, noise.as_slice())).collect();
        let paths = files.iter().map(|file| format!("{name}/{file}")).collect();
        (metainfo::folder(name, &contents, 16_384), paths)
    };
    let mut samples = vec![
        single("one.bin"),
        single("caf\u{e9} %41 100%.bin"),
        folder("Pack", &["a.bin"]),
        folder("Pack 2", &["a.bin", "sub/b.bin", "sub/deeper/c.bin"]),
        folder(
            "S\u{e9}rie %C3%A9",
            &["\u{65e5}\u{672c}.bin", "sub \u{fc}/b %41.bin"],
        ),
    ];
    if !is_old {
        // Releases before cannot write these.
        samples.push(single("\u{1f3ac} film %41.bin"));
        samples.push(folder("\u{1f3ac} Pack", &["a.bin", "sub \u{fc}/\u{1f600} b.bin"]));
        samples.push(folder("Plain", &["a.bin", "\u{1f600}/%41 b.bin"]));
    }
    samples
}

fn files_lie_below_the_save_path(program: &Program) {
    let home = home();
    let mut rig = Rig::new(Daemon::start(program, home.path(), Listen::Unix));
    let is_old = program.generation().suite == Suite::Bookworm;
    for (number, (torrent, paths)) in samples(is_old).into_iter().enumerate() {
        let below = rig.daemon.downloads.join(format!("{number}"));
        for path in &paths {
            let file = below.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, metainfo::noise(500, 3)).unwrap();
        }
        rig.client.add(&add(&torrent, &below)).unwrap();
        let shown = rig.wait_for_state(&torrent.hash, State::Seeding);
        let name = torrent.name.as_str();
        assert_eq!(
            (shown.name.as_str(), Path::new(&shown.save_path)),
            (name, below.as_path())
        );
        assert_eq!(Path::new(&shown.content_path), below.join(name));
        let files = rig.client.files(&torrent.hash).unwrap();
        let told: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(told, paths);
        for path in told {
            assert!(
                Path::new(&format!("{}/{path}", shown.save_path)).is_file(),
                "{path}"
            );
        }
        let one = rig.client.get(&torrent.hash).unwrap().unwrap();
        assert_eq!(
            (one.name, one.save_path, one.content_path),
            (shown.name, shown.save_path, shown.content_path)
        );
    }
}
