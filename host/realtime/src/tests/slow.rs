//! Tests of slow clients.

use super::*;

/// Padding so large that a few messages fill every buffer between server and client.
const PAD: usize = 1024 * 1024;

#[tokio::test]
async fn a_slow_reader_is_resynced_and_never_sees_a_gap() {
    let (server, numbers) = Server::with_numbers(HubConfig::default()).await;
    let mut slow = server.plain(VIEWER).await;
    let mut quick = server.plain(VIEWER).await;
    assert_eq!(slow.json().await["data"]["full"], true);
    assert_eq!(quick.json().await["data"]["full"], true);
    for seq in 1..=60_u64 {
        numbers.grow(&server.hub, PAD);
        let update = quick.json().await;
        assert_eq!(
            (&update["data"]["seq"], &update["data"]["full"]),
            (&json!(seq), &json!(false))
        );
    }
    let counters = server.hub.counters();
    assert!(counters.resyncs >= 1, "{counters:?}");
    assert!(counters.queued_bytes <= 9 * PAD as u64, "{counters:?}");

    let mut have = 0;
    while have < 60 {
        let data = slow.json().await["data"].take();
        let seq = data["seq"].as_u64().unwrap();
        if data["full"] == json!(false) {
            assert_eq!(seq, have + 1, "a delta that does not follow");
        }
        have = seq;
    }
}

/// Sends more than the buffers between server and client hold.
async fn flood(server: &Server) {
    let large = Bytes::from(format!("\"{}\"", "x".repeat(PAD)));
    for _ in 0..30 {
        server.hub.emit(Room::Authenticated, "large", large.clone());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_closed() {
    let config = HubConfig {
        stall_timeout: Duration::from_millis(200),
        ..HubConfig::default()
    };
    let server = Server::start(config).await;
    let stuck = server.plain(VIEWER).await;
    flood(&server).await;
    server
        .until("the stuck one closed", |counters| {
            counters.sockets == 0 && counters.stalled == 1
        })
        .await;
    assert!(server.hub.counters().dropped > 0);
    drop(stuck);
}

#[tokio::test]
async fn a_flood_of_pings_from_a_client_that_never_reads_is_bounded() {
    let config = HubConfig {
        stall_timeout: Duration::from_secs(1),
        ..HubConfig::default()
    };
    let server = Server::start(config).await;
    let mut flooder = server.plain(VIEWER).await;
    flood(&server).await;
    for _ in 0..1000 {
        if flooder
            .0
            .send(Message::Ping(Bytes::from_static(&[0; 100])))
            .await
            .is_err()
        {
            break;
        }
    }
    server
        .until("the flooder closed", |counters| counters.sockets == 0)
        .await;
}
