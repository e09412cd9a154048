//! The role `channel`: a second role, on the same ground as engines.

use std::time::Duration;

use qm_plugin_host::{Granted, LaneState, Limits, PluginStatus};
use qm_ports::channel::{ChannelConfig, ChannelError, Message, Picture};
use serde_json::{Value, json};

use crate::bench::{Bench, fixture, limits, patient};
use crate::network::{answer, listen};

const COURIER: &[(&str, &str)] = &[("courier.wasm", "courier.wasm")];

fn config(value: Value) -> ChannelConfig {
    match value {
        Value::Object(fields) => ChannelConfig(fields),
        other => panic!("a configuration is an object: {other}"),
    }
}

fn hosts(hosts: &[String]) -> Granted {
    Granted {
        hosts: hosts.to_vec(),
        ..Granted::default()
    }
}

fn message() -> Message {
    Message {
        id: "1".to_owned(),
        subject: "A torrent is complete".to_owned(),
        text: "It was large.".to_owned(),
        ..Message::default()
    }
}

#[tokio::test]
async fn a_channel_describes_itself_beside_engines() {
    let bench = Bench::start(&[
        ("courier.wasm", "courier.wasm"),
        ("misbehave.wasm", "misbehave.wasm"),
    ])
    .await;
    let channels = bench.host.channels().channels();
    assert_eq!(channels.len(), 1);
    let courier = &channels[0];
    assert_eq!((&*courier.id, &*courier.label), ("courier", "Courier"));
    assert_eq!((courier.text_limit, courier.caption_limit), (Some(4096), None));
    assert!(courier.links_by_code);
    let status = bench.status("courier.wasm");
    assert_eq!(status.kind.as_deref(), Some("channel"));
    assert!(
        bench.open("e", "courier", json!({})).await.is_err(),
        "a channel drives no torrent client"
    );
    let unknown = bench
        .host
        .channels()
        .verify("misbehave", config(json!({})))
        .await
        .unwrap_err();
    assert!(matches!(unknown, ChannelError::Missing(_)), "{unknown:?}");
}

#[tokio::test]
async fn messages_reach_what_the_person_configured_each_from_an_instance_of_its_own() {
    let (port, count) = listen(vec![answer("200 OK", "n-1")], Duration::ZERO).await;
    let bench = Bench::start(COURIER).await;
    let there = config(json!({"url": format!("http://listed.example:{port}/hook"), "code": "4711"}));
    let verified = bench
        .host
        .channels()
        .verify("courier", there.clone())
        .await
        .unwrap();
    assert_eq!(verified.state, "calls 1");
    let host = bench.host.channels();
    assert_eq!(host.link("courier", there.clone(), "0").await.unwrap(), None);
    let linked = host
        .link("courier", there.clone(), "4711")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(linked.state, "calls 1", "an instance served two calls");
    let picture = Picture {
        name: "p.png".to_owned(),
        media_type: "image/png".to_owned(),
        bytes: vec![1; 100],
    };
    let message = Message {
        picture: Some(picture),
        ..message()
    };
    let receipt = host.send("courier", there, &linked.state, message).await.unwrap();
    assert_eq!(receipt.id.as_deref(), Some("n-1"));
    assert_eq!(receipt.reduced.as_deref(), Some("the picture was left out"));
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_host_that_nobody_granted_is_not_dialled() {
    let (port, count) = listen(vec![answer("200 OK", "x")], Duration::ZERO).await;
    let bench = Bench::start(COURIER).await;
    for own in ["https://courier.example/", &format!("http://127.0.0.1:{port}/")] {
        let asked = config(json!({"own": own}));
        let refused = bench
            .host
            .channels()
            .send("courier", asked, "", message())
            .await
            .unwrap_err();
        assert!(matches!(refused, ChannelError::Denied(_)), "{own}: {refused:?}");
    }
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_a_person_entered_leads_outside_too() {
    let (port, count) = listen(vec![answer("200 OK", "x")], Duration::ZERO).await;
    let bench = Bench::start(COURIER).await;
    for host in ["127.0.0.1", "localhost", "inside.example", "169.254.169.254"] {
        let there = config(json!({"url": format!("http://{host}:{port}/")}));
        let refused = bench.host.channels().send("courier", there, "", message()).await;
        assert!(
            matches!(&refused, Err(ChannelError::Denied(_))),
            "{host}: {refused:?}"
        );
    }
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn of_an_answer_of_ten_mebibytes_a_line_is_kept_and_nothing_stays_held() {
    let body = "x".repeat(10 << 20);
    let (large, _) = listen(vec![answer("200 OK", &body)], Duration::ZERO).await;
    let (small, _) = listen(vec![answer("200 OK", "n-1")], Duration::ZERO).await;
    // Ten mebibytes are read in more time than the other tests let a guest compute.
    let cpu = Duration::from_secs(5);
    let bench = Bench::with(COURIER, Limits { cpu, ..limits() }).await;
    let to = |port: u16| config(json!({"url": format!("http://listed.example:{port}/")}));
    let channels = bench.host.channels();
    let flooded = channels.send("courier", to(large), "", message()).await;
    // The whole of it is the id of the message, of which a line is kept.
    let receipt = flooded.expect("a line of it is a receipt");
    assert!(receipt.id.is_some_and(|id| id.len() <= 1 << 10));
    assert!(channels.send("courier", to(small), "", message()).await.is_ok());
    // What it held is given back by the task that ran it, which may end after the answer is here.
    let is_free = |plugin: &PluginStatus| plugin.file == "courier.wasm" && plugin.memory_bytes == 0;
    let free = bench.until("nothing held for it", |list| list.iter().any(is_free));
    free.await;
}

#[tokio::test]
async fn a_granted_host_is_dialled_if_it_leads_outside_or_is_listed() {
    let bench = Bench::start(COURIER).await;
    let send = async |own: &str| {
        let asked = config(json!({"own": own}));
        bench
            .host
            .channels()
            .send("courier", asked, "", message())
            .await
            .unwrap_err()
    };
    let (inside, listed) = ("https://courier.example/", "https://listed.example/");
    assert!(
        matches!(send(listed).await, ChannelError::Denied(_)),
        "nobody granted it"
    );
    let refusal = bench.status("courier.wasm").last_refusal.unwrap();
    assert!(refusal.what.contains("listed.example"), "{refusal:?}");

    let wanted = [
        "HTTPS://Listed.example/".to_owned(),
        "https://courier.example".to_owned(),
    ];
    let granted = bench.host.may_grant("courier", &hosts(&wanted)).unwrap();
    assert_eq!(
        granted.hosts,
        ["https://courier.example", "https://listed.example"]
    );
    for more in [
        "https://evil.example",
        "https://listed.example:444",
        "listed.example",
    ] {
        let refused = bench
            .host
            .may_grant("courier", &hosts(&[more.to_owned()]))
            .unwrap_err();
        assert!(
            refused.to_string().contains("listed.example") || refused.to_string().contains("origin"),
            "{refused}"
        );
    }
    bench.pins.grant(
        "courier",
        &[
            "https://courier.example",
            "https://listed.example",
            "https://evil.example",
        ],
    );
    let status = bench.host.follow_grants("courier").await.unwrap();
    assert_eq!(
        status.granted_hosts,
        ["https://courier.example", "https://listed.example"],
        "what an older file asked for is no grant of this one's"
    );
    // It leads to this machine: nobody answers there, but it was dialled.
    assert!(matches!(send(listed).await, ChannelError::Unreachable(_)));
    assert!(matches!(send(inside).await, ChannelError::Denied(why) if why.contains("SSRF_ALLOW_HOSTS")));
    assert!(
        matches!(send("https://evil.example/").await, ChannelError::Denied(_)),
        "it does not ask for it"
    );

    bench.pins.grant("courier", &[]);
    bench.host.follow_grants("courier").await.unwrap();
    assert!(
        matches!(send(listed).await, ChannelError::Denied(_)),
        "taken back"
    );
}

#[tokio::test]
async fn what_was_built_together_with_the_host_is_granted_all_it_asks_for() {
    let bench = Bench::start(COURIER).await;
    let theirs = bench.status("courier.wasm");
    assert!(!theirs.first_party && theirs.granted_hosts.is_empty());
    let host = bench.again_built_together().await;
    let ours = &host.list()[0];
    assert!(ours.first_party);
    assert_eq!(ours.granted_hosts, ours.hosts);
    let send = async |own: &str| {
        let asked = config(json!({"own": own}));
        host.channels()
            .send("courier", asked, "", message())
            .await
            .unwrap_err()
    };
    // It leads to this machine: nobody answers there, but it was dialled.
    assert!(matches!(
        send("https://listed.example/").await,
        ChannelError::Unreachable(_)
    ));
    assert!(
        matches!(send("https://evil.example/").await, ChannelError::Denied(_)),
        "it does not ask for it"
    );
    let refused = host.may_grant("courier", &Granted::default()).unwrap_err();
    assert!(refused.to_string().contains("built together"), "{refused}");
}

#[tokio::test]
async fn what_a_channel_does_wrong_is_a_typed_error_and_costs_one_call() {
    let bench = Bench::with(COURIER, patient()).await;
    let of = async |mode: &str| {
        let asked = config(json!({"mode": mode, "token": "hunter22"}));
        bench
            .host
            .channels()
            .send("courier", asked, "chat 4711", message())
            .await
            .unwrap_err()
    };
    assert_eq!(of("throttled").await, ChannelError::Throttled(Some(17)));
    assert_eq!(
        of("leak").await,
        ChannelError::Rejected("•••••••• is not liked".to_owned())
    );
    assert_eq!(
        of("leak_state").await,
        ChannelError::Rejected("•••••••• is not liked".to_owned())
    );
    assert!(matches!(of("answer").await, ChannelError::Rejected(why) if why.len() <= 1024));
    assert!(matches!(of("trap").await, ChannelError::Plugin(why) if why.contains("told to")));
    assert!(matches!(of("loop").await, ChannelError::Plugin(why) if why.contains("computed")));
    bench
        .host
        .channels()
        .verify("courier", config(json!({})))
        .await
        .expect("what others configured is not to blame for it");
}

/// A destination that makes its plugin fail, every time.
fn bad(number: usize) -> ChannelConfig {
    config(json!({"mode": "trap", "token": format!("token-{number}")}))
}

#[tokio::test]
async fn what_one_person_configured_fails_for_them_alone() {
    let limits = Limits {
        strikes: 3,
        back_off: Duration::from_mins(1),
        ..limits()
    };
    let bench = Bench::with(COURIER, limits).await;
    let channels = bench.host.channels();
    let mut told = Vec::new();
    for _ in 0..20 {
        told.push(channels.verify("courier", bad(1)).await.unwrap_err().to_string());
        assert!(
            channels.verify("courier", config(json!({}))).await.is_ok(),
            "everybody else goes on"
        );
    }
    assert!(
        told[0].contains("told to") && told.iter().any(|told| told.contains("it is tried again in")),
        "{told:?}"
    );
    assert!(bench.status("courier.wasm").traps <= 4, "who waits costs nothing");
    assert!(
        channels
            .verify("courier", bad(2))
            .await
            .unwrap_err()
            .to_string()
            .contains("told to")
    );
    let status = bench.status("courier.wasm");
    assert_eq!(
        (status.lanes[0].state, status.reason),
        (LaneState::Idle, None),
        "it is not the plugin"
    );
}

#[tokio::test]
async fn a_channel_that_fails_for_everybody_is_shown_and_tried_now_and_then() {
    let limits = Limits {
        strikes: 3,
        back_off: Duration::from_mins(1),
        ..limits()
    };
    let bench = Bench::with(COURIER, limits).await;
    let channels = bench.host.channels();
    for number in 0..10 {
        assert!(channels.verify("courier", bad(number)).await.is_err());
    }
    let waits = channels.verify("courier", config(json!({}))).await.unwrap_err();
    assert!(
        matches!(&waits, ChannelError::Plugin(why) if why.contains("it is tried again in")),
        "{waits:?}"
    );
    let status = bench.status("courier.wasm");
    assert_eq!((status.lanes[0].state, status.traps), (LaneState::BackingOff, 4));
    assert!(
        status.lanes[0]
            .reason
            .as_deref()
            .is_some_and(|why| why.contains("told to"))
    );
    bench.install("courier.wasm", &fixture("courier.wasm"));
    bench.host.reload("courier").await.unwrap();
    assert!(channels.verify("courier", config(json!({}))).await.is_ok());
}

#[tokio::test]
async fn calls_run_side_by_side_and_are_bounded() {
    let bench = Bench::with(COURIER, Limits { queue: 2, ..limits() }).await;
    let channels = bench.host.channels();
    let slow = || channels.verify("courier", config(json!({"mode": "sleep"})));
    let answers = futures_util::future::join_all((0..8).map(|_| slow())).await;
    let busy = answers
        .iter()
        .filter(|answer| **answer == Err(ChannelError::Busy));
    assert_eq!(busy.count(), 2, "four run and two wait: {answers:?}");
}
