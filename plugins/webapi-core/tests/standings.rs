//! When torrents are asked about for their trackers: against a fake client that counts the questions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on ends"
)]

mod support;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use engine_model::{Attention, Standing, Torrent};
use serde_json::{Value, json};
use support::http::Whole;
use support::wire::Wire;
use webapi_core::{Clock, Delta, Error, Session};

#[derive(Clone, Default)]
struct Ticks(Rc<Cell<u64>>);

impl Clock for Ticks {
    fn monotonic_ms(&self) -> u64 {
        self.0.get()
    }
    fn sleep_ms(&self, _: u32) {}
}

/// One torrent with one tracker.
struct World {
    state: &'static str,
    /// Status of the tracker, as the client numbers it: 1 was not heard yet, 2 works.
    status: u8,
    /// The client tells the trackers of many torrents in one answer.
    tells_many: bool,
    /// Questions about trackers are answered with an error.
    fails: bool,
    /// The next list ends before it is complete.
    breaks_off: bool,
    /// Times at which somebody asked about the trackers, in seconds.
    asked: Vec<u64>,
}

struct Host {
    world: Rc<RefCell<World>>,
    session: Session<Wire, Ticks>,
    clock: Ticks,
    cursor: Option<u64>,
    known: HashMap<String, Torrent>,
}

fn hash() -> String {
    "a".repeat(40)
}

impl World {
    fn row(&self) -> Value {
        json!({ "hash": hash(), "name": "t", "state": self.state, "trackers_count": 1, "has_metadata": true })
    }

    fn trackers(&self) -> Value {
        json!([{ "url": "http://tracker.example/announce", "status": self.status, "msg": "" }])
    }

    fn answer(&mut self, path: &str, body: &str, now: u64) -> Whole {
        match path {
            "/app/webapiVersion" => Whole::new(200, "2.11.4"),
            "/sync/maindata" => {
                let text =
                    json!({ "rid": 1, "full_update": true, "torrents": { hash(): self.row() } }).to_string();
                let end = text.len() - usize::from(std::mem::take(&mut self.breaks_off));
                Whole::new(200, &text[..end])
            }
            "/torrents/info" if self.tells_many && body.contains("includeTrackers") => {
                self.asked.push(now / 1000);
                let mut row = self.row();
                row["trackers"] = self.trackers();
                self.respond(json!([row]))
            }
            "/torrents/info" => Whole::new(200, json!([self.row()]).to_string()),
            "/torrents/trackers" => {
                self.asked.push(now / 1000);
                self.respond(self.trackers())
            }
            other => panic!("{other} was asked for"),
        }
    }

    fn respond(&self, answer: Value) -> Whole {
        if self.fails {
            Whole::new(500, "busy")
        } else {
            Whole::new(200, answer.to_string())
        }
    }
}

impl Host {
    fn new(tells_many: bool) -> Host {
        let world = Rc::new(RefCell::new(World {
            state: "stalledUP",
            status: 1,
            tells_many,
            fails: false,
            breaks_off: false,
            asked: Vec::new(),
        }));
        let clock = Ticks::default();
        let (client, time) = (world.clone(), clock.clone());
        let wire = Wire::scripted(move |request| {
            let path = request
                .url
                .strip_prefix("http://box:8080/api/v2")
                .expect("the base");
            let path = path.split('?').next().unwrap_or_default();
            if path == "/auth/login" {
                return Ok(Whole::new(200, "Ok.").with_header("set-cookie", "SID=abc"));
            }
            let body = String::from_utf8_lossy(&request.body);
            Ok(client.borrow_mut().answer(path, &body, time.0.get()))
        });
        Host {
            world,
            session: Session::new(support::config("http://box:8080", "u", "p"), wire, clock.clone()),
            clock,
            cursor: None,
            known: HashMap::new(),
        }
    }

    /// The next tick.
    fn poll(&mut self) -> Result<Delta, Error> {
        self.clock.0.set(self.clock.0.get() + 2000);
        let delta = self.session.poll(self.cursor, Attention::Watched, &[]);
        self.cursor = delta.as_ref().ok().map(|delta| delta.cursor);
        let changed = delta.iter().flat_map(|delta| delta.changed.clone());
        self.known
            .extend(changed.map(|torrent| (torrent.hash.clone(), torrent)));
        delta
    }

    /// Polls for so many seconds; the times of the questions about trackers meanwhile, from their beginning on.
    fn wait(&mut self, seconds: u64) -> Vec<u64> {
        let begun = self.clock.0.get() / 1000;
        self.world.borrow_mut().asked.clear();
        while self.clock.0.get() / 1000 < begun + seconds {
            self.poll().expect("a list");
        }
        self.world.borrow().asked.iter().map(|at| at - begun).collect()
    }

    fn standing(&self) -> Option<Standing> {
        self.known[&hash()].tracker_standing
    }

    fn change(&self, change: impl FnOnce(&mut World)) {
        change(&mut self.world.borrow_mut());
    }
}

#[test]
fn who_was_not_heard_is_asked_about_again_after_a_growing_wait() {
    for tells_many in [true, false] {
        let mut host = Host::new(tells_many);
        let asked = host.wait(900);
        assert_eq!(asked, [2, 6, 14, 30, 62, 126, 254, 510, 810], "{tells_many}");
        assert_eq!(host.standing(), Some(Standing::Updating));
        host.change(|world| world.status = 2);
        host.wait(300);
        assert_eq!(host.standing(), Some(Standing::Working), "{tells_many}");
    }
}

#[test]
fn a_question_that_failed_is_asked_again_soon() {
    for tells_many in [true, false] {
        let mut host = Host::new(tells_many);
        host.change(|world| (world.fails, world.status) = (true, 2));
        assert_eq!(host.wait(20), [2, 6, 14], "{tells_many}");
        host.change(|world| world.fails = false);
        host.wait(20);
        assert_eq!(host.standing(), Some(Standing::Working), "{tells_many}");
        assert_eq!(host.wait(200), [0; 0], "one that was heard is left alone");
        // What happens to it begins anew, however often nobody answered before.
        host.change(|world| (world.state, world.status) = ("stalledDL", 1));
        assert_eq!(host.wait(20), [2, 6, 14], "{tells_many}");
    }
}

#[test]
fn a_stopped_torrent_is_not_asked_about_soon() {
    let mut host = Host::new(true);
    host.change(|world| world.state = "stoppedUP");
    assert_eq!(host.wait(310), [2, 302]);
    host.change(|world| world.state = "stalledUP");
    assert_eq!(host.wait(8), [2, 6], "until it is started");
}

#[test]
fn a_list_that_broke_off_loses_no_question() {
    let mut host = Host::new(true);
    host.change(|world| (world.breaks_off, world.status) = (true, 2));
    host.poll().expect_err("the list broke off");
    host.poll().expect("the whole list");
    assert_eq!(host.standing(), Some(Standing::Working));
}
