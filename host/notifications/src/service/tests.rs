//! Tests of the use cases on both databases.

use std::time::Duration;

use qm_db::{Db, db_test};
use qm_kernel::{PageQuery, Timestamp};
use qm_platform::ActingError;
use qm_ports::channel::ChannelError;
use serde_json::{Map, Value, json};

use super::worker::Hands;
use crate::error::NotificationsError as E;
use crate::model::channel::{Health, Seen};
use crate::model::inbox::{Item, Mark, Shelf, Wanted};
use crate::model::preference::PreferenceChange;
use crate::testing::{CATALOGUE, House, caller};

fn config(name: &str, value: &str) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), json!(value))])
}

impl House {
    async fn inbox(&self, name: &str, wanted: Wanted) -> Vec<Item> {
        let page = PageQuery {
            page: 1,
            page_size: 100,
        };
        let (items, total) = self.app.inbox(&caller(name), &wanted, page).await.unwrap();
        assert_eq!(items.len() as u64, total);
        items
    }

    async fn titles(&self, name: &str) -> Vec<String> {
        let items = self.inbox(name, Wanted::default()).await;
        items.into_iter().map(|item| item.title).collect()
    }

    /// Adds this channel to the user's preference for completed torrents.
    async fn prefers(&self, name: &str, channel: &'static str) {
        let change = if ["email", "chat_app_a", "chat_app_b"].contains(&channel) {
            PreferenceChange {
                switched: vec![(channel, true)],
                ..PreferenceChange::default()
            }
        } else {
            PreferenceChange {
                others: Some(vec![channel.to_owned()]),
                ..PreferenceChange::default()
            }
        };
        self.app
            .prefer(&caller(name), "torrent.completed", &change)
            .await
            .unwrap();
    }

    async fn push(&self, name: &str) -> Seen {
        let seen = self
            .app
            .connect(&caller(name), "push", config("topic", name))
            .await
            .unwrap();
        assert_eq!(self.channels.subjects(), ["push Quartermaster test message"]);
        seen
    }

    async fn health(&self, name: &str, channel: &str) -> (Health, i64, Option<String>) {
        let seen = self.seen(name, channel).await;
        let connection = seen.connection.expect("a connection");
        (
            connection.health(),
            connection.consecutive_failures,
            connection.last_error,
        )
    }

    async fn seen(&self, name: &str, channel: &str) -> Seen {
        let overview = self.app.overview(&caller(name)).await.unwrap();
        let mut channels = overview.channels.into_iter();
        channels.find(|seen| seen.channel == channel).expect("a channel")
    }
}

fn unreachable() -> ChannelError {
    ChannelError::Unreachable("nobody answers".into())
}

const DAY: Duration = Duration::from_hours(24);

db_test! {
    async fn what_is_too_old_is_removed_where_the_operator_says_so(db: Db) {
        let house = House::new(&db).await;
        house.push("bob").await;
        house.prefers("bob", "push").await;
        house.dispatch(&house.completed("old")).await;
        house.app.send_all(&mut Hands::default()).await;
        let (inbox, now) = (async |name: &str| house.titles(name).await, || house.clock.ctx().now());
        house.clock.advance(DAY * 29);
        house.app.remove_old(now()).await.unwrap();
        assert_eq!(house.deliveries().await.len(), 1);
        house.clock.advance(DAY * 2);
        house.dispatch(&house.completed("new")).await;
        house.app.send_all(&mut Hands::default()).await;
        house.app.remove_old(now()).await.unwrap();
        assert_eq!(house.deliveries().await.len(), 1, "what became of a message is kept for thirty days");
        assert_eq!(inbox("ada").await, ["new finished downloading", "old finished downloading"], "an inbox for ever");
        house.keep(32).await;
        house.app.remove_old(now()).await.unwrap();
        assert_eq!(inbox("bob").await.len(), 2);
        house.keep(31).await;
        house.clock.advance(Duration::from_secs(1));
        house.app.remove_old(now()).await.unwrap();
        for name in ["ada", "bob"] {
            assert_eq!(inbox(name).await, ["new finished downloading"], "{name}");
        }
        // More than fit one transaction.
        for n in 0..25 {
            house.dispatch(&house.completed(&format!("t{n}"))).await;
        }
        house.clock.advance(DAY * 40);
        house.app.remove_old(now()).await.unwrap();
        assert!(inbox("ada").await.is_empty() && house.deliveries().await.is_empty());
    }

    async fn each_hears_of_an_event_once_and_as_they_want(db: Db) {
        let house = House::new(&db).await;
        house.user("no-permission", &["system.view"]).await;
        house.user("inactive", &["torrents.view"]).await;
        house.set_active("inactive", false).await;
        house.user("silent", &["torrents.view"]).await;
        let off = PreferenceChange { enabled: Some(false), switched: vec![("email", true)], ..PreferenceChange::default() };
        house.app.prefer(&caller("silent"), "torrent.completed", &off).await.unwrap();
        house.user("mail-only", &["torrents.view"]).await;
        let mail = PreferenceChange { in_app: Some(false), switched: vec![("email", true)], ..PreferenceChange::default() };
        house.app.prefer(&caller("mail-only"), "torrent.completed", &mail).await.unwrap();
        house.prefers("bob", "push").await;

        let event = house.completed("a.mkv");
        for _ in 0..2 {
            house.dispatch(&event).await;
        }
        house.dispatch(&house.event("torrent.rules_due", json!({}))).await;
        let items = house.inbox("ada", Wanted::default()).await;
        assert_eq!(items.len(), 1);
        let item = &items[0];
        assert_eq!((&*item.title, &*item.event_key, &*item.category, &*item.severity),
            ("a.mkv finished downloading", "torrent.completed", "downloads", "success"));
        assert_eq!((item.deep_link.as_deref(), item.resource_type.as_deref(), item.resource_id.as_deref()),
            (Some("/torrents"), Some("torrent"), Some("t")));
        assert!(!item.is_read && !item.is_archived && item.presentation.is_some());
        assert_eq!(house.titles("bob").await.len(), 1);
        for nobody in ["no-permission", "inactive", "silent", "mail-only"] {
            assert!(house.titles(nobody).await.is_empty(), "{nobody}");
        }
        assert_eq!(house.app.unread(&caller("mail-only")).await.unwrap(), 0, "it carries the mail alone");
        assert_eq!(house.deliveries().await, ["bob push pending 0 -", "mail-only email pending 0 -"]);
    }

    async fn what_concerns_somebody_is_told_to_them_alone(db: Db) {
        let house = House::new(&db).await;
        let concerning = |key, who: Option<&str>| {
            let event = house.event(key, json!({ "torrentName": "a", "keyName": "k" }));
            qm_kernel::event::DomainEvent { subject_user_id: who.map(str::to_owned), ..event }
        };
        house.dispatch(&concerning("security.api_key_created", Some("ada"))).await;
        house.dispatch(&concerning("security.api_key_created", Some("nobody"))).await;
        house.dispatch(&concerning("security.api_key_created", None)).await;
        assert_eq!(house.titles("ada").await, ["An API key was created: k"]);
        let by_ada = concerning("security.password_changed", None).by(Some("ada"));
        house.dispatch(&by_ada).await;
        assert_eq!(house.titles("ada").await.len(), 2, "who did it, where it is said of nobody else");
        house.dispatch(&concerning("torrent.failed", Some("ada"))).await;
        assert_eq!((house.titles("ada").await.len(), house.titles("bob").await.len()), (3, 0));
        house.set_active("ada", false).await;
        house.dispatch(&concerning("torrent.failed", Some("ada"))).await;
        assert_eq!(house.titles("bob").await, ["a failed"], "the owner is gone: everybody who sees torrents");
    }

    async fn a_thousand_people_are_told_in_their_own_time(db: Db) {
        let house = House::new(&db).await;
        let zones = [None, Some("Asia/Kolkata"), Some("America/New_York"), Some("UTC")];
        for n in 0..1000_usize {
            house.user_in(&format!("u{n:04}"), &["torrents.view"], zones[n % 4]).await;
        }
        for n in (0..1000).step_by(10) {
            house.prefers(&format!("u{n:04}"), "push").await;
        }
        let event = house.completed("a.mkv");
        house.dispatch(&event).await;
        for (n, clock) in [(1, "Today, 2:45 PM"), (2, "Today, 5:15 AM"), (999, "Today, 9:15 AM")] {
            let items = house.inbox(&format!("u{n:04}"), Wanted::default()).await;
            let card = items[0].presentation.clone().unwrap();
            assert_eq!(card.facts.last().unwrap().value, clock, "{n}");
        }
        let mut people = 0;
        for n in 0..1000 {
            people += house.app.unread(&caller(&format!("u{n:04}"))).await.unwrap();
        }
        assert_eq!((people, house.deliveries().await.len()), (1000, 100));
    }

    async fn messages_go_out_and_are_tried_again(db: Db) {
        let house = House::new(&db).await;
        let mut hands = Hands::default();
        house.push("ada").await;
        house.prefers("ada", "push").await;
        house.dispatch(&house.completed("a.mkv")).await;
        house.app.send_all(&mut hands).await;
        let sent = house.channels.sent();
        assert_eq!(sent.len(), 1);
        assert_eq!((&*sent[0].state, &*sent[0].message.subject), ("to ada", "Download completed"));
        assert!(sent[0].message.text.contains("a.mkv finished downloading"), "{}", sent[0].message.text);
        let id = sent[0].message.id.clone();
        house.app.send_all(&mut hands).await;
        assert!(house.channels.sent().is_empty(), "once");
        assert_eq!(house.deliveries().await, ["ada push provider_accepted 1 -"]);

        house.channels.fail("push", Some(unreachable()));
        house.dispatch(&house.completed("b.mkv")).await;
        for (attempt, wait) in [(1, 60), (2, 300)] {
            house.app.send_all(&mut hands).await;
            let row = format!("ada push failed {attempt} -");
            assert!(house.deliveries().await.contains(&row), "{:?}", house.deliveries().await);
            house.clock.advance(Duration::from_secs(wait - 1));
            house.app.send_all(&mut hands).await;
            assert!(house.deliveries().await.contains(&row), "not before its time");
            house.clock.advance(Duration::from_secs(1));
        }
        let (health, failures, error) = house.health("ada", "push").await;
        assert_eq!((health, failures), (Health::Healthy, 2));
        assert_eq!(error.as_deref(), Some("The push cannot be reached: nobody answers"));
        house.channels.fail("push", None);
        house.app.send_all(&mut hands).await;
        let sent = house.channels.sent();
        assert!(sent.len() == 1 && sent[0].message.id != id);
        assert_eq!(house.health("ada", "push").await, (Health::Healthy, 0, None));

        house.channels.fail("push", Some(unreachable()));
        house.dispatch(&house.completed("c.mkv")).await;
        for wait in [60, 300, 0] {
            house.app.send_all(&mut hands).await;
            house.clock.advance(Duration::from_secs(wait));
        }
        assert_eq!(house.health("ada", "push").await.0, Health::Failing);
        house.channels.fail("push", None);
        house.clock.advance(Duration::from_hours(1));
        house.app.send_all(&mut hands).await;
        assert!(house.channels.sent().is_empty(), "three attempts are all");
        let ended = house.deliveries().await;
        assert!(ended.contains(&"ada push failed 3 -".to_owned()), "{ended:?}");
    }

    async fn what_is_refused_for_good_is_not_tried_again_and_a_pause_costs_nothing(db: Db) {
        let house = House::new(&db).await;
        let mut hands = Hands::default();
        house.push("ada").await;
        house.prefers("ada", "push").await;
        house.channels.fail("push", Some(ChannelError::Auth("the token is revoked".into())));
        house.dispatch(&house.completed("a")).await;
        house.app.send_all(&mut hands).await;
        house.clock.advance(Duration::from_hours(1));
        house.app.send_all(&mut hands).await;
        assert_eq!(house.deliveries().await, ["ada push failed 1 -"]);

        house.channels.fail("push", Some(ChannelError::Throttled(Some(17))));
        house.dispatch(&house.completed("b")).await;
        house.dispatch(&house.completed("c")).await;
        house.app.send_all(&mut hands).await;
        let rows = house.deliveries().await;
        assert_eq!(rows[1..], ["ada push failed 0 -", "ada push pending 0 -"], "the second was not even tried");
        house.channels.fail("push", None);
        house.clock.advance(Duration::from_secs(16));
        house.app.send_all(&mut hands).await;
        assert!(house.channels.sent().is_empty());
        house.clock.advance(Duration::from_secs(1));
        house.app.send_all(&mut hands).await;
        assert_eq!(house.channels.sent().len(), 2);
    }

    async fn a_destination_that_hangs_or_fails_holds_up_nobody_else(db: Db) {
        let house = House::new(&db).await;
        let mut hands = Hands::default();
        for name in ["ada", "bob"] {
            house.push(name).await;
            house.prefers(name, "push").await;
        }
        house.channels.hanging.lock().unwrap().insert("to ada".into());
        for n in 0..30 {
            house.dispatch(&house.completed(&format!("{n}"))).await;
        }
        let going = {
            let (app, channels) = (house.app.clone(), house.channels.clone());
            tokio::spawn(async move {
                let mut hands = Hands::default();
                app.send_all(&mut hands).await;
                channels.sent()
            })
        };
        let patience = tokio::time::timeout(Duration::from_mins(1), async {
            loop {
                let rows = house.deliveries().await;
                if rows.iter().filter(|row| **row == "bob push provider_accepted 1 -").count() == 30 {
                    break rows;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        let rows = patience.await.expect("one that hangs does not hold up the other");
        let hanging = rows.iter().filter(|row| **row == "ada push sending 1 -").count();
        let waiting = rows.iter().filter(|row| **row == "ada push pending 0 -").count();
        assert_eq!((hanging, waiting), (1, 29), "to one destination one at a time");
        house.channels.hanging.lock().unwrap().clear();
        house.channels.go.notify_one();
        assert_eq!(going.await.unwrap().len(), 60);
        house.app.send_all(&mut hands).await;
        assert!(house.channels.sent().is_empty());
    }

    async fn a_channel_that_hangs_for_everybody_holds_up_no_other(db: Db) {
        let house = House::new(&db).await;
        for n in 0..40 {
            let name = format!("u{n:02}");
            house.user(&name, &["torrents.view"]).await;
            house.push(&name).await;
            house.prefers(&name, "push").await;
            house.channels.hanging.lock().unwrap().insert(format!("to {name}"));
        }
        house.mailbox("ada", "ada@example.org").await;
        house.dispatch(&house.completed("a")).await;
        house.clock.advance(Duration::from_secs(1));
        house.prefers("ada", "email").await;
        house.dispatch(&house.completed("b")).await;
        let going = {
            let app = house.app.clone();
            tokio::spawn(async move { app.send_all(&mut Hands::default()).await })
        };
        let sent = tokio::time::timeout(Duration::from_mins(1), async {
            loop {
                if let [sent] = &*house.channels.sent() {
                    break sent.channel.clone();
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        assert_eq!(sent.await.expect("one that came later goes out by another channel"), "email");
        // They begin concurrently, so the sent one may have been first.
        let begun = tokio::time::timeout(Duration::from_mins(1), async {
            loop {
                let rows = house.deliveries().await;
                let hanging = rows.iter().filter(|row| row.ends_with("push sending 1 -")).count();
                if hanging >= 4 {
                    break (hanging, rows.len());
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        assert_eq!(begun.await.expect("four begin"), (4, 81), "of one channel four at a time");
        going.abort();
    }

    async fn what_was_cut_off_is_not_sent_twice_unless_its_product_can_tell(db: Db) {
        let house = House::new(&db).await;
        let mut hands = Hands::default();
        house.push("ada").await;
        house.prefers("ada", "push").await;
        for (is_repeatable, sent, row) in
            [(false, 0, "ada push failed 1 interrupted"), (true, 1, "ada push provider_accepted 1 -")]
        {
            house.dispatch(&house.completed("a")).await;
            house.cut_off(is_repeatable).await;
            house.app.send_all(&mut hands).await;
            assert!(house.channels.sent().is_empty(), "it is in nobody's hands");
            house.app.recover().await.unwrap();
            house.app.send_all(&mut hands).await;
            assert_eq!(house.channels.sent().len(), sent);
            assert!(house.deliveries().await.contains(&row.to_owned()), "{:?}", house.deliveries().await);
            house.clock.advance(Duration::from_secs(1));
        }
    }

    async fn what_can_not_be_sent_any_more_says_why(db: Db) {
        let house = House::new(&db).await;
        let mut hands = Hands::default();
        for name in ["ada", "bob"] {
            house.push(name).await;
            house.prefers(name, "push").await;
        }
        house.user("eve", &["torrents.view"]).await;
        house.prefers("eve", "email").await;
        house.dispatch(&house.completed("a")).await;
        house.set_active("ada", false).await;
        house.app.disconnect(&caller("bob"), "push").await.unwrap();
        house.app.send_all(&mut hands).await;
        assert!(house.channels.sent().is_empty());
        assert_eq!(house.deliveries().await, [
            "ada push cancelled 1 user_inactive", "bob push cancelled 1 no_verified_connection",
            "eve email cancelled 1 no_verified_connection",
        ]);
    }

    async fn a_channel_whose_plugin_is_gone_is_waited_for_a_day(db: Db) {
        let house = House::new(&db).await;
        let mut hands = Hands::default();
        house.push("ada").await;
        house.prefers("ada", "push").await;
        house.dispatch(&house.completed("a")).await;
        house.channels.unload("push");
        house.app.send_all(&mut hands).await;
        assert_eq!(house.deliveries().await, ["ada push failed 0 -"]);
        assert_eq!(house.health("ada", "push").await, (Health::Healthy, 0, None), "the connection is as good as it was");
        house.clock.advance(Duration::from_hours(24));
        house.app.send_all(&mut hands).await;
        assert_eq!(house.deliveries().await, ["ada push cancelled 1 channel_not_implemented"]);
    }

    async fn secrets_are_sealed_and_gone_with_their_connection(db: Db) {
        let house = House::new(&db).await;
        let ada = caller("ada");
        let seen = house.mailbox("ada", "ada@example.org").await;
        let connection = seen.connection.expect("a connection");
        assert!(connection.verified && connection.enabled);
        assert_eq!((connection.label.as_deref(), connection.last_error), (Some("masked"), None));
        let stored = house.stored().await;
        assert!(!stored.contains("ada@") && !stored.contains("to ada") && stored.len() > 60, "{stored}");
        let other = house.with_another_key();
        assert!(other.seen("ada", "email").await.connection.is_none(), "what no key opens is as good as not there");
        assert!(matches!(other.app.test(&ada, "email").await, Err(E::NoSuchConnection)));
        house.app.disconnect(&ada, "email").await.unwrap();
        assert_eq!(house.stored().await, "");
        assert!(matches!(house.app.disconnect(&ada, "email").await, Err(E::NoSuchConnection)));
        assert!(matches!(house.app.test(&ada, "email").await, Err(E::NoSuchConnection)));
        house.app.connect(&ada, "email", config("address", "ada@example.net")).await.unwrap();
    }

    async fn a_connection_that_fails_its_first_message_is_kept_unverified(db: Db) {
        let house = House::new(&db).await;
        let ada = caller("ada");
        house.app.connect(&ada, "push", config("topic", "a")).await.unwrap();
        house.channels.sent();
        house.channels.fail("push", Some(ChannelError::Rejected("no such topic".into())));
        let refused = house.app.test(&ada, "push").await;
        assert_eq!(refused.unwrap_err().to_string(), "The push refused it: no such topic");
        let (health, failures, error) = house.health("ada", "push").await;
        assert_eq!((health, failures, error.as_deref()), (Health::Healthy, 1, Some("The push refused it: no such topic")));
        house.channels.fail("push", None);
        house.app.test(&ada, "push").await.unwrap();
        assert_eq!(house.health("ada", "push").await.1, 0);

        let broken = house.app.connect(&ada, "push", config("other", "a")).await;
        assert!(matches!(broken, Err(E::Config(messages)) if messages.len() == 2));
        house.channels.fail("push", Some(unreachable()));
        assert!(house.app.connect(&ada, "push", config("topic", "b")).await.is_err());
        assert_eq!(house.health("ada", "push").await.0, Health::Healthy, "what was not verified is not stored");
        let kind_gone = house.app.connect(&ada, "nobody's", Map::new()).await;
        assert!(matches!(kind_gone, Err(E::UnknownChannel(_))));
        house.channels.unload("chat_app_b");
        let not_there = house.app.connect(&ada, "chat_app_b", Map::new()).await;
        assert!(matches!(not_there, Err(E::NotInstalled(_))));
    }

    async fn an_address_is_confirmed_by_a_code_before_anything_else_goes_there(db: Db) {
        let house = House::new(&db).await;
        let mut hands = Hands::default();
        let (ada, bob) = (caller("ada"), caller("bob"));
        house.prefers("ada", "email").await;
        let address = config("address", "stranger@example.org");
        let seen = house.app.connect(&ada, "email", address.clone()).await.unwrap();
        let connection = seen.connection.unwrap();
        assert_eq!((connection.enabled, connection.verified, connection.health()), (true, false, Health::Unverified));
        let letters = house.channels.sent();
        assert_eq!(letters.len(), 1, "the code, and nothing else");
        let text = &letters[0].message.text;
        assert!(!text.contains("ada") && !text.contains("stranger") && letters[0].message.presentation.is_none(), "{text}");
        let code = text.split_whitespace().next().unwrap().to_owned();
        // Before the code is entered nothing is sent there, by any way.
        assert!(matches!(house.app.test(&ada, "email").await, Err(E::Unconfirmed)));
        house.dispatch(&house.completed("a")).await;
        house.app.send_all(&mut hands).await;
        assert!(house.channels.sent().is_empty());
        assert_eq!(house.deliveries().await, ["ada email cancelled 1 no_verified_connection"]);
        for wrong in [None, Some(""), Some("000000")] {
            assert!(matches!(house.app.confirm(&ada, "email", wrong).await, Err(E::WrongCode)), "{wrong:?}");
        }
        assert!(matches!(house.app.confirm(&bob, "email", Some(&code)).await, Err(E::NotConfigured(_))), "somebody else's");
        let seen = house.app.confirm(&ada, "email", Some(&code)).await.unwrap();
        assert!(seen.connection.unwrap().verified);
        assert!(matches!(house.app.confirm(&ada, "email", Some(&code)).await, Err(E::WrongCode)), "it is good once");
        house.app.test(&ada, "email").await.unwrap();
        assert_eq!(house.channels.sent().len(), 1);
        // Another address needs its own code; the previous one is invalid there.
        house.app.connect(&ada, "email", address.clone()).await.unwrap();
        let before = house.channels.code();
        house.app.connect(&ada, "email", config("address", "other@example.org")).await.unwrap();
        house.channels.sent();
        assert!(matches!(house.app.confirm(&ada, "email", Some(&before)).await, Err(E::WrongCode)));
        assert_eq!(house.health("ada", "email").await.0, Health::Unverified);
        // Only a few letters are sent per user.
        let refused = house.app.connect(&ada, "email", config("address", "third@example.org")).await;
        assert!(matches!(refused, Err(E::TooManyCodes { most: 3, minutes: 60 })));
        assert!(house.channels.sent().is_empty());
        house.app.connect(&bob, "email", address).await.unwrap();
        house.clock.advance(Duration::from_mins(31));
        let late = house.channels.code();
        assert!(matches!(house.app.confirm(&bob, "email", Some(&late)).await, Err(E::WrongCode)), "it is over");
    }

    async fn mail_needs_a_server_that_sends_it(db: Db) {
        let house = House::new(&db).await;
        let ada = caller("ada");
        house.mail(&Map::new()).await;
        assert!(!house.app.overview(&ada).await.unwrap().email_ready);
        let refused = house.app.connect(&ada, "email", config("address", "a@example.org")).await;
        assert_eq!(refused.unwrap_err().to_string(), "Email is not configured on this server yet.");
        assert!(house.channels.sent().is_empty());
    }

    async fn a_chat_is_linked_by_the_code_that_it_sent(db: Db) {
        let house = House::new(&db).await;
        let ada = caller("ada");
        assert!(matches!(house.app.link(&ada, "chat_app_a").await, Err(E::NotConfigured(_))));
        let seen = house.app.connect(&ada, "chat_app_a", config("token", "1:t")).await.unwrap();
        let connection = seen.connection.unwrap();
        assert_eq!((connection.verified, connection.label.as_deref()), (false, Some("@house_bot")));
        assert!(house.channels.sent().is_empty(), "nobody to send to");
        assert!(matches!(house.app.test(&ada, "chat_app_a").await, Err(E::NoSuchConnection)));
        assert!(matches!(house.app.confirm(&ada, "chat_app_a", None).await, Err(E::NoCodeReceived)));
        let old = house.app.link(&ada, "chat_app_a").await.unwrap();
        let code = house.app.link(&ada, "chat_app_a").await.unwrap();
        assert_eq!((&*code.bot_username, code.expires_in_seconds), ("house_bot", 600));
        let arrive = |code: &str| house.channels.arrived.lock().unwrap().insert(code.to_owned(), "ada".to_owned());
        if old.code.expose() != code.code.expose() {
            arrive(old.code.expose());
            assert!(matches!(house.app.confirm(&ada, "chat_app_a", None).await, Err(E::NoCodeReceived)));
        }
        arrive(code.code.expose());
        let seen = house.app.confirm(&ada, "chat_app_a", None).await.unwrap();
        let connection = seen.connection.unwrap();
        assert_eq!((connection.verified, connection.label.as_deref()), (true, Some("@ada")));
        assert_eq!(connection.bot_username(), "house_bot");
        assert_eq!(house.channels.sent()[0].state, "chat ada", "it says so there");
        assert!(matches!(house.app.confirm(&ada, "chat_app_a", None).await, Err(E::NoCodeReceived)), "once");
        assert!(!house.stored().await.contains("chat ada"));

        let bob = caller("bob");
        house.app.connect(&bob, "chat_app_a", config("token", "2:t")).await.unwrap();
        let code = house.app.link(&bob, "chat_app_a").await.unwrap();
        arrive(code.code.expose());
        assert!(matches!(house.app.confirm(&bob, "chat_app_a", None).await, Err(E::ChatTaken)));
        house.app.disconnect(&ada, "chat_app_a").await.unwrap();
        house.app.confirm(&bob, "chat_app_a", None).await.unwrap();
        assert!(matches!(house.app.link(&bob, "push").await, Err(E::NotConfigured(_))));
        house.app.connect(&bob, "push", config("topic", "b")).await.unwrap();
        assert!(matches!(house.app.link(&bob, "push").await, Err(E::NoCodes(_))));
    }

    async fn preferences_are_what_was_said_and_defaults(db: Db) {
        let house = House::new(&db).await;
        let ada = caller("ada");
        let chosen = house.app.preferences(&ada).await.unwrap();
        assert!(chosen.len() == CATALOGUE.len() && chosen.iter().all(|(.., customized)| !customized));
        let nothing = PreferenceChange::default();
        let (_, preference, _) = house.app.prefer(&ada, "torrent.failed", &nothing).await.unwrap();
        assert!(preference.enabled && preference.in_app);
        let keys = ["torrent.failed", "torrent.failed", "nobody's", "user.created"].map(str::to_owned);
        let off = PreferenceChange { in_app: Some(false), ..PreferenceChange::default() };
        let changed = house.app.prefer_all(&ada, keys.into(), &off).await.unwrap();
        assert_eq!(changed, (2, vec!["nobody's".to_owned()]));
        let chosen = house.app.preferences(&ada).await.unwrap();
        let customized = chosen.iter().filter(|(.., customized)| *customized);
        let customized: Vec<_> = customized.map(|(event, preference, _)| (event.key, preference.in_app)).collect();
        assert_eq!(customized, [("torrent.failed", false), ("user.created", false)]);
        let other = house.app.preferences(&caller("bob")).await.unwrap();
        assert!(other.iter().all(|(.., customized)| !customized));
        assert!(matches!(house.app.prefer(&ada, "nobody's", &nothing).await, Err(E::UnknownEvent)));
        house.set_active("ada", false).await;
        let refused = house.app.preferences(&ada).await;
        assert!(matches!(refused, Err(E::Acting(ActingError::Inactive))));
        assert!(house.app.overview(&ada).await.is_err());
    }

    async fn an_inbox_is_its_owners(db: Db) {
        let house = House::new(&db).await;
        let ada = caller("ada");
        for (seconds, name) in [(0, "first_100%"), (1, "second"), (2, "third")] {
            house.clock.set(qm_test_base::START_MS + seconds * 1000);
            house.dispatch(&house.completed(name)).await;
        }
        house.dispatch(&house.event("system.storage_warning", json!({ "path": "/d", "freePercent": 9 }))).await;
        let items = house.inbox("ada", Wanted::default()).await;
        let ids: Vec<&str> = items.iter().map(|item| &*item.id).collect();
        assert_eq!(house.titles("ada").await, ["third finished downloading", "second finished downloading",
            "first_100% finished downloading"]);
        let now = Timestamp::from_ms(qm_test_base::START_MS + 2000);
        assert_eq!(items[0].created_at, now);
        assert!(house.app.mark(&ada, ids[0], Mark::Read).await.unwrap().is_read);
        assert!(house.app.mark(&ada, ids[0], Mark::Read).await.unwrap().is_read);
        assert_eq!(house.app.unread(&ada).await.unwrap(), 2);
        assert!(!house.app.mark(&ada, ids[0], Mark::Unread).await.unwrap().is_read);
        let archived = house.app.mark(&ada, ids[1], Mark::Archived).await.unwrap();
        assert!(archived.is_read && archived.is_archived);
        let on = async |shelf| {
            let items = house.inbox("ada", Wanted { shelf, ..Wanted::default() }).await;
            items.into_iter().map(|item| item.id).collect::<Vec<_>>()
        };
        assert_eq!(on(Shelf::Unread).await, [ids[0], ids[2]]);
        assert_eq!(on(Shelf::Archived).await, [ids[1]]);
        assert_eq!(on(Shelf::Read).await, Vec::<String>::new());
        assert_eq!(house.app.read_all(&ada).await.unwrap(), 2);
        assert_eq!(on(Shelf::Read).await, [ids[0], ids[2]]);
        assert_eq!(house.app.read_all(&ada).await.unwrap(), 0);
        for (search, found) in [("THIRD", 1), ("%", 1), ("_", 1), ("finished", 2), ("\\", 0), ("nothing", 0)] {
            let wanted = Wanted { search: Some(search.to_owned()), ..Wanted::default() };
            assert_eq!(house.inbox("ada", wanted).await.len(), found, "{search}");
        }
        let wanted = Wanted { category: Some("storage".into()), ..Wanted::default() };
        assert!(house.inbox("ada", wanted).await.is_empty(), "she does not hold system.view");
        let bob = caller("bob");
        assert!(matches!(house.app.mark(&bob, ids[0], Mark::Read).await, Err(E::NoSuchNotification)));
        assert!(matches!(house.app.mark(&ada, "nobody's", Mark::Read).await, Err(E::NoSuchNotification)));
        assert_eq!(house.app.unread(&bob).await.unwrap(), 3);
    }
}
