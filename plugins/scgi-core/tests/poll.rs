//! The delta, against a made-up rTorrent that answers as the real one does.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "a test that cannot go on has failed; values are exact"
)]

mod support;

use engine_model::{Attention, Standing, State};
use proptest::prelude::*;
use scgi_core::Error;
use support::world::{Fake, Host};

#[test]
fn an_idle_list_says_nothing() {
    let mut host = Host::new((1..=100).map(Fake::new));
    let first = host.poll().unwrap();
    assert!(first.full && host.told.len() == 100 && host.asked() == ["full"]);
    assert_eq!(
        (
            first.stats.torrent_count,
            first.stats.active_count,
            first.stats.total_uploaded
        ),
        (100, 100, 500)
    );
    assert_eq!((first.stats.download_rate, first.stats.upload_rate_limit), (9, 9));
    for _ in 0..3 {
        let idle = host.poll().unwrap();
        assert!(!idle.full && host.told.is_empty() && idle.removed.is_empty() && host.asked() == ["light"]);
        assert_eq!(idle.stats, first.stats);
    }
    host.assert_known();
}

#[test]
fn what_moves_is_told_at_once() {
    let mut host = Host::new((1..=5).map(Fake::new));
    host.poll().unwrap();
    host.change(|torrents| torrents[2].completed = 500);
    assert_eq!(host.poll().unwrap().stats.total_downloaded, 500);
    assert_eq!((host.told.len(), host.asked()), (1, vec!["light"]));
    host.change(|torrents| torrents[2].message = "Tracker: [a & b]".to_owned());
    host.poll().unwrap();
    assert_eq!(
        (host.told.len(), host.asked()),
        (1, vec!["light", "single"]),
        "what trackers answered stands behind a message"
    );
    host.assert_known();
}

/// Its message says that a tracker lost it, which counts once no other one works.
#[test]
fn the_standing_follows_the_trackers_without_a_call_a_torrent() {
    let mut host = Host::new((1..=200).map(|number| Fake {
        trackers: "1:1:1:0:0/1:1:1:0:0/3:1:0:0:0/".to_owned(),
        ..Fake::new(number)
    }));
    let standing = |host: &Host, number: u32| {
        let torrent = &host.known[&Fake::new(number).hash()];
        (torrent.state, torrent.tracker_standing)
    };
    host.poll().unwrap();
    assert_eq!(
        host.asked(),
        ["full", "single", "single"],
        "first trackers, and some that were not heard"
    );
    assert_eq!(standing(&host, 7), (State::Downloading, Some(Standing::Updating)));
    host.poll().unwrap();
    assert_eq!((host.told.len(), host.asked()), (200, vec!["light", "single"]));
    let shown = &host.known[&Fake::new(7).hash()];
    assert_eq!(shown.tracker_host.as_deref(), Some("tracker-7.example"));

    // One of them is heard: within the four polls that it takes to look at all of them, and one.
    host.change(|torrents| torrents[6].trackers = "1:1:1:0:1/1:1:1:1:0/3:1:0:0:0/".to_owned());
    host.change(|torrents| torrents[7].trackers = "1:1:1:0:1/1:1:1:0:1/3:1:0:0:0/".to_owned());
    for _ in 0..5 {
        host.poll().unwrap();
        assert!(host.asked().len() <= 2, "{:?}", host.asked());
    }
    assert_eq!(standing(&host, 7), (State::Downloading, Some(Standing::Working)));
    assert_eq!(standing(&host, 8), (State::Downloading, Some(Standing::Failing)));

    let lost = "Tracker: [Failure reason \"unregistered torrent\"]";
    host.change(|torrents| {
        torrents[6..8]
            .iter_mut()
            .for_each(|torrent| torrent.message = lost.to_owned());
    });
    host.poll().unwrap();
    assert_eq!(standing(&host, 7), (State::Downloading, Some(Standing::Working)));
    assert_eq!(standing(&host, 8), (State::Error, Some(Standing::Unregistered)));
    let said = |number: u32| host.known[&Fake::new(number).hash()].tracker_message.clone();
    assert_eq!(
        (said(7), said(8).as_deref()),
        (None, Some("unregistered torrent"))
    );
    assert_eq!(
        host.known[&Fake::new(8).hash()].tracker_host.as_deref(),
        Some("tracker-8.example")
    );
}

#[test]
fn a_release_that_cannot_count_trackers_is_read_without() {
    let mut host = Host::new((1..=5).map(Fake::new));
    host.world.0.borrow_mut().cannot_branch = true;
    assert!(host.poll().unwrap().full && host.told.len() == 5);
    assert_eq!(host.asked(), ["full", "full", "single"]);
    assert_eq!(host.known[&Fake::new(2).hash()].tracker_standing, None);
    host.cursor = None;
    host.poll().unwrap();
    assert_eq!(host.asked(), ["full", "single"], "known by now");
}

#[test]
fn what_matters_brings_the_rest_along() {
    let mut host = Host::new((1..=5).map(Fake::new));
    host.poll().unwrap();
    host.change(|torrents| {
        torrents[1].started = false;
        torrents[1].label = "new".to_owned();
        torrents[3].directory = "/e".to_owned();
        torrents.push(Fake::new(9));
        torrents.remove(0);
    });
    let summary = host.poll().unwrap();
    assert_eq!(
        (summary.removed.len(), host.told.len(), host.asked()),
        (1, 3, vec!["light", "single"])
    );
    host.assert_known();
    host.poll().unwrap();
    assert_eq!((host.told.len(), host.asked()), (0, vec!["light"]));
}

#[test]
fn nobody_watching_only_what_is_busy_is_asked_for() {
    let mut host = Host::new((1..=100).map(Fake::new));
    let first = host.poll().unwrap();
    let mut asked = Vec::new();
    for _ in 0..30 {
        let idle = host.poll_quietly().unwrap();
        assert!(!idle.full && host.told.is_empty() && idle.removed.is_empty());
        assert_eq!(idle.stats, first.stats);
        asked.extend(host.asked());
    }
    let count = |kind: &str| asked.iter().filter(|asked| **asked == kind).count();
    assert_eq!(
        (count("busy"), count("essential"), count("full"), asked.len()),
        (22, 7, 1, 30),
        "in a minute"
    );
    host.poll().unwrap();
    assert_eq!(host.asked(), ["labelled"], "whoever looks is told all of it");
    host.poll().unwrap();
    assert_eq!(host.asked(), ["light"]);
    host.assert_known();
}

#[test]
fn what_is_busy_is_told_by_every_quiet_poll() {
    let mut host = Host::new((1..=5).map(Fake::new));
    host.change(|torrents| torrents[2].rate = 10);
    host.poll().unwrap();
    for completed in [100, 200] {
        host.change(|torrents| torrents[2].completed = completed);
        assert_eq!(host.poll_quietly().unwrap().stats.total_downloaded, completed);
        assert_eq!((host.told.len(), host.asked()), (1, vec!["busy"]));
        host.assert_known();
    }
    host.change(|torrents| {
        torrents[2].completed = 1000;
        torrents[2].rate = 0;
        torrents[4].rate = 5;
    });
    host.poll_quietly().unwrap();
    assert_eq!(
        (host.told.len(), host.asked()),
        (2, vec!["busy", "single"]),
        "one that came to rest is asked for once more"
    );
    host.assert_known();
    assert_eq!(host.known[&Fake::new(3).hash()].download_rate, 0);
}

#[test]
fn what_others_do_is_told_within_ten_seconds() {
    type Deed = fn(&mut Vec<Fake>);
    let deeds: [Deed; 6] = [
        |torrents| torrents[1].started = false,
        |torrents| torrents[2].label = "tv".to_owned(),
        |torrents| torrents[3].directory = "/elsewhere".to_owned(),
        |torrents| torrents.push(Fake::new(9)),
        |torrents| drop(torrents.remove(0)),
        |torrents| torrents.extend((100..300).map(Fake::new)),
    ];
    for deed in deeds {
        for idle in 0..5 {
            let mut host = Host::new((1..=5).map(Fake::new));
            host.poll().unwrap();
            for _ in 0..idle {
                host.poll_quietly().unwrap();
            }
            host.change(deed);
            for _ in 0..5 {
                host.poll_quietly().unwrap();
            }
            host.assert_known();
            host.poll().unwrap();
            host.assert_known();
        }
    }
}

#[test]
fn a_new_label_is_told_within_ten_seconds() {
    for idle in 0..5 {
        let mut host = Host::new((1..=5).map(Fake::new));
        for _ in 0..=idle {
            host.poll().unwrap();
        }
        host.change(|torrents| torrents[2].label = "tv".to_owned());
        for _ in 0..5 {
            host.poll().unwrap();
        }
        host.assert_known();
    }
}

#[test]
fn an_exact_poll_tells_everything_at_once() {
    let mut host = Host::new((1..=5).map(Fake::new));
    for _ in 0..3 {
        host.poll().unwrap();
    }
    host.change(|torrents| torrents[2].label = "tv".to_owned());
    host.poll_for(Attention::Exact).unwrap();
    assert_eq!(host.asked(), ["full"]);
    host.assert_known();
}

#[test]
fn fresh_torrents_are_told_as_they_are_whoever_looks() {
    for attention in [Attention::Watched, Attention::Quiet] {
        let mut host = Host::new((1..=5).map(Fake::new));
        for _ in 0..3 {
            host.poll_for(attention).unwrap();
        }
        let fresh = [3, 4, 9].map(|number| Fake::new(number).hash());
        host.change(|torrents| torrents[2].label = "tv".to_owned());
        host.poll_fresh(attention, &fresh).unwrap();
        host.assert_known();
        host.change(|torrents| {
            torrents.push(Fake::new(9));
            drop(torrents.remove(3));
        });
        let summary = host.poll_fresh(attention, &fresh).unwrap();
        assert_eq!(summary.removed, [Fake::new(4).hash()], "{attention:?}");
        host.assert_known();
    }
}

#[test]
fn many_fresh_torrents_cost_one_list() {
    let mut host = Host::new((1..=200).map(Fake::new));
    for _ in 0..3 {
        host.poll_quietly().unwrap();
    }
    let fresh: Vec<String> = (1..=100).map(|number| Fake::new(number).hash()).collect();
    host.change(|torrents| torrents[50].label = "tv".to_owned());
    host.poll_fresh(Attention::Quiet, &fresh).unwrap();
    assert_eq!(host.asked(), ["full"]);
    host.assert_known();
}

#[test]
fn a_release_that_cannot_filter_is_asked_for_what_is_essential() {
    let mut host = Host::new((1..=5).map(Fake::new));
    host.world.0.borrow_mut().is_old = true;
    host.poll().unwrap();
    host.poll_quietly().unwrap();
    assert_eq!(host.asked(), ["busy", "essential"]);
    host.change(|torrents| torrents[1].started = false);
    host.poll_quietly().unwrap();
    assert_eq!(host.asked(), ["essential", "single"]);
    host.assert_known();
}

#[test]
fn many_at_once_cost_one_more_list() {
    let mut host = Host::new((1..=10).map(Fake::new));
    host.poll().unwrap();
    host.change(|torrents| {
        torrents[0].completed = 3;
        torrents.extend((100..200).map(Fake::new));
    });
    host.poll().unwrap();
    assert_eq!((host.told.len(), host.asked()), (101, vec!["light", "full"]));
    host.assert_known();
    host.poll().unwrap();
    assert!(host.told.is_empty());
}

#[test]
fn what_rests_is_read_again_in_half_a_minute() {
    let mut host = Host::new((1..=5).map(Fake::new));
    host.poll().unwrap();
    host.change(|torrents| torrents[4].name = "by another client".to_owned());
    let mut polls = 0;
    while host.told != [format!("{:040x}", 5)] {
        host.poll().unwrap();
        polls += 1;
    }
    assert_eq!((polls, host.asked()), (15, vec!["full"]));
    host.assert_known();
    host.poll().unwrap();
    assert!(host.told.is_empty());
}

#[test]
fn the_cursor_decides() {
    let mut host = Host::new((1..=5).map(Fake::new));
    let first = host.poll().unwrap();
    host.cursor = Some(first.cursor + 7);
    assert!(host.poll().unwrap().full);
    host.cursor = None;
    assert!(host.poll().unwrap().full);
    assert!(!host.poll().unwrap().full);
    // An answer that never reached the host: it comes back with an older cursor.
    let lost = host.cursor;
    host.change(|torrents| torrents[0].completed = 1);
    host.poll().unwrap();
    host.cursor = lost;
    assert!(host.poll().unwrap().full);
    host.assert_known();
}

#[test]
fn after_an_error_everything_is_read_again() {
    let damages: [fn(String) -> String; 4] = [
        |xml| xml[..xml.len() / 2].to_owned(),
        |_| "garbage".to_owned(),
        |xml| xml.replacen("<value><string>0000", "<value><string>XXXX", 1),
        |xml| {
            xml.replacen(
                "<value><array><data>\r\n<value><string>",
                "<value><struct><member>",
                1,
            )
        },
    ];
    for damage in damages {
        let mut host = Host::new((1..=50).map(Fake::new));
        host.poll().unwrap();
        host.change(|torrents| torrents.iter_mut().for_each(|torrent| torrent.completed = 7));
        host.world.0.borrow_mut().damage = Some(damage);
        let error = host.poll().unwrap_err();
        assert!(matches!(error, Error::Protocol(_)), "{error:?}");
        let next = host.poll().unwrap();
        assert!(next.full && host.asked() == ["full"]);
        host.assert_known();
    }
}

#[test]
fn the_order_of_the_list_does_not_matter() {
    let mut host = Host::new((1..=20).map(Fake::new));
    host.poll().unwrap();
    host.change(|torrents| torrents.reverse());
    host.poll().unwrap();
    assert!(host.told.is_empty());
    host.change(|torrents| torrents.push(Fake::new(3)));
    host.poll().unwrap();
    assert!(host.told.is_empty(), "one listed twice is one");
}

#[derive(Clone, Debug)]
enum Step {
    Progress(usize),
    StartStop(usize),
    Move(usize),
    Add(u32),
    Remove(usize),
    Swap(usize, usize),
    Rate(usize),
    Damage,
    Poll,
    QuietPoll,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any::<usize>().prop_map(Step::Progress),
        any::<usize>().prop_map(Step::StartStop),
        any::<usize>().prop_map(Step::Move),
        (1..80_u32).prop_map(Step::Add),
        any::<usize>().prop_map(Step::Remove),
        (any::<usize>(), any::<usize>()).prop_map(|(one, other)| Step::Swap(one, other)),
        any::<usize>().prop_map(Step::Rate),
        Just(Step::Damage),
        Just(Step::Poll),
        Just(Step::QuietPoll),
        Just(Step::QuietPoll),
    ]
}

fn apply(torrents: &mut Vec<Fake>, step: &Step) {
    let count = torrents.len();
    match step {
        Step::Add(number) if torrents.iter().all(|torrent| torrent.number != *number) => {
            torrents.push(Fake::new(*number));
        }
        Step::Progress(at) if count > 0 => torrents[at % count].completed += 1,
        Step::Rate(at) if count > 0 => torrents[at % count].rate ^= 5,
        Step::StartStop(at) if count > 0 => torrents[at % count].started ^= true,
        Step::Move(at) if count > 0 => torrents[at % count].directory.push('x'),
        Step::Remove(at) if count > 0 => drop(torrents.remove(at % count)),
        Step::Swap(one, other) if count > 0 => torrents.swap(one % count, other % count),
        _ => {}
    }
}

proptest! {
    #[test]
    fn deltas_add_up(steps in prop::collection::vec(step(), 1..120)) {
        let mut host = Host::new((1..10).map(Fake::new));
        for step in &steps {
            match step {
                Step::Damage => host.world.0.borrow_mut().damage = Some(|xml| xml[..xml.len() * 2 / 3].to_owned()),
                Step::QuietPoll => drop(host.poll_quietly()),
                Step::Poll => {
                    if host.poll().is_ok() {
                        host.assert_known();
                    }
                }
                change => host.change(|torrents| apply(torrents, change)),
            }
        }
        host.world.0.borrow_mut().damage = None;
        host.poll().unwrap();
        host.assert_known();
    }
}
