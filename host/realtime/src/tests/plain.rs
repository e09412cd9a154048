//! Tests of the plain protocol: authentication, rooms, deltas, resync, expiry.

use super::*;

#[tokio::test]
async fn a_subscriber_gets_the_whole_state_and_then_what_changes() {
    let (server, numbers) = Server::with_numbers(HubConfig::default()).await;
    numbers.grow(&server.hub, 0);
    let mut client = server.plain(VIEWER).await;
    let first = client.json().await;
    assert_eq!(first["event"], "torrents:update");
    assert_eq!(
        first["data"],
        json!({ "engineId": "e1", "seq": 1, "full": true, "torrents": [1] })
    );
    for seq in 2..5 {
        numbers.grow(&server.hub, 0);
        let update = client.json().await;
        assert_eq!(
            (&update["data"]["seq"], &update["data"]["full"]),
            (&json!(seq), &json!(false)),
            "{update}"
        );
    }
    // A delta that does not continue: the client has missed one.
    server
        .hub
        .state_changed("e1", 9, Bytes::from_static(b"{\"seq\":9}"));
    let resync = client.json().await;
    assert_eq!(
        (&resync["data"]["full"], &resync["data"]["seq"]),
        (&json!(true), &json!(4))
    );
    assert_eq!(server.hub.counters().resyncs, 1);
}

#[tokio::test]
async fn the_token_comes_in_any_of_three_ways() {
    let server = Server::start(HubConfig::default()).await;
    let mut by_query = server.connect("?token=alice%20torrents.view%20600000").await;
    assert_eq!(by_query.json().await["event"], "auth:ok");
    server.plain(VIEWER).await;
    let mut by_message = server.connect("").await;
    by_message.say("ignored: not JSON").await;
    by_message.say("{\"event\":\"else\"}").await;
    by_message.auth(VIEWER).await;
    let hello = by_message.json().await;
    assert_eq!(hello["event"], "auth:ok");
    assert_eq!(hello["data"]["username"], "alice");
    assert!(hello["data"]["expiresAt"].is_string());
}

#[tokio::test]
async fn a_bad_first_token_ends_the_connection() {
    let server = Server::start(HubConfig::default()).await;
    for query in ["?token=nonsense", "?token=alice%20torrents.view%200", ""] {
        let mut client = server.connect(query).await;
        if query.is_empty() {
            client.auth("nonsense").await;
        }
        assert_eq!(client.json().await["event"], "auth:error");
        assert_eq!(client.closed().await, 4401, "{query}");
    }
    server.until("all gone", |counters| counters.sockets == 0).await;
}

#[tokio::test]
async fn events_reach_their_room_only() {
    let server = Server::start(HubConfig::default()).await;
    let mut alice = server.plain("alice torrents.view 600000").await;
    let mut bob = server.plain("bob files.view 600000").await;
    let mut root = server.plain("root SUPER_ADMIN 600000").await;
    let mut stranger = server.connect("").await;
    server
        .until("all in", |counters| {
            (counters.sockets, counters.authenticated) == (4, 3)
        })
        .await;
    let hub = &server.hub;
    hub.emit(
        Room::Perm(Permission::TorrentsView),
        "t",
        Bytes::from_static(b"1"),
    );
    hub.emit(Room::Perm(Permission::FilesView), "f", Bytes::from_static(b"2"));
    hub.emit(Room::User("bob".into()), "b", Bytes::from_static(b"3"));
    hub.emit(Room::Authenticated, "end", Bytes::from_static(b"null"));
    for (client, expected) in [(&mut alice, "t"), (&mut bob, "f,b"), (&mut root, "t,f")] {
        for name in expected.split(',').chain(["end"]) {
            assert_eq!(client.json().await["event"], name);
        }
    }
    stranger.auth("carol files.view 600000").await;
    assert_eq!(stranger.json().await["event"], "auth:ok", "nothing came before");
}

#[tokio::test]
async fn a_new_token_changes_rooms_and_expiry_on_the_open_socket() {
    let config = HubConfig {
        expiry_grace: Duration::from_millis(100),
        ..HubConfig::default()
    };
    let (server, numbers) = Server::with_numbers(config).await;
    let mut client = server.plain("alice files.view 300").await;
    client.auth("alice torrents.view 600000").await;
    assert_eq!(client.json().await["event"], "auth:ok");
    assert_eq!(
        client.json().await["data"]["full"],
        true,
        "the state comes with the permission"
    );
    client.auth("mallory torrents.view 600000").await;
    assert_eq!(client.json().await["event"], "auth:error");
    client.auth("nonsense").await;
    assert_eq!(client.json().await["event"], "auth:error");
    // The first token has expired meanwhile; the second keeps the socket.
    tokio::time::sleep(Duration::from_millis(500)).await;
    numbers.grow(&server.hub, 0);
    assert_eq!(client.json().await["data"]["seq"], 1);

    client.auth("alice files.view 600000").await;
    assert_eq!(client.json().await["event"], "auth:ok");
    numbers.grow(&server.hub, 0);
    server
        .hub
        .emit(Room::Authenticated, "end", Bytes::from_static(b"null"));
    assert_eq!(
        client.json().await["event"],
        "end",
        "no state without the permission"
    );
}

#[tokio::test]
async fn a_socket_outlives_its_token_by_the_grace_only() {
    let config = HubConfig {
        expiry_grace: Duration::from_millis(200),
        ..HubConfig::default()
    };
    let server = Server::start(config).await;
    let mut client = server.plain("alice torrents.view 100").await;
    let started = std::time::Instant::now();
    assert_eq!(client.closed().await, 4401);
    assert!(started.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn silence_without_a_token_ends_the_connection() {
    let config = HubConfig {
        connect_timeout: Duration::from_millis(100),
        ..HubConfig::default()
    };
    let server = Server::start(config).await;
    assert_eq!(server.connect("").await.closed().await, 4408);
}

#[tokio::test]
async fn pings_are_sent_and_a_client_that_answers_none_is_closed() {
    let config = HubConfig {
        ping_interval: Duration::from_millis(100),
        ping_timeout: Duration::from_millis(80),
        ..HubConfig::default()
    };
    let server = Server::start(config).await;
    let mut lively = server.plain(VIEWER).await;
    let deaf = server.plain(VIEWER).await;
    let pings = async {
        let mut pings = 0;
        while pings < 5 {
            pings += u8::from(matches!(lively.message().await, Message::Ping(_)));
        }
    };
    pings.await;
    server
        .until("the deaf one closed", |counters| counters.sockets == 1)
        .await;
    drop(deaf);
}

#[tokio::test]
async fn a_client_ping_is_answered_and_its_goodbye_too() {
    let server = Server::start(HubConfig::default()).await;
    let mut client = server.plain(VIEWER).await;
    client
        .0
        .send(Message::Ping(Bytes::from_static(b"hi")))
        .await
        .unwrap();
    assert_eq!(client.message().await, Message::Pong(Bytes::from_static(b"hi")));
    client.0.close(None).await.unwrap();
    assert_eq!(client.closed().await, 1000);
    server.until("it left", |counters| counters.sockets == 0).await;
}

#[tokio::test]
async fn too_large_a_message_is_refused() {
    let server = Server::start(HubConfig::default()).await;
    let mut client = server.plain(VIEWER).await;
    client.say("x".repeat(64 * 1024 + 1)).await;
    assert_eq!(client.closed().await, 1009);
}

#[tokio::test]
async fn sources_come_and_go_while_clients_watch() {
    let server = Server::start(HubConfig::default()).await;
    let mut client = server.plain(VIEWER).await;
    let numbers = Numbers::new();
    server.hub.attach_source("e1", numbers.clone());
    assert_eq!(client.json().await["data"]["seq"], 0);
    numbers.grow(&server.hub, 0);
    assert_eq!(client.json().await["data"]["seq"], 1);
    server.hub.detach_source("e1");
    numbers.grow(&server.hub, 0);
    server.hub.attach_source("e1", numbers);
    let again = client.json().await;
    assert_eq!(
        (&again["data"]["full"], &again["data"]["seq"]),
        (&json!(true), &json!(2))
    );
}

#[tokio::test]
async fn a_shutdown_tells_every_client() {
    let server = Server::start(HubConfig::default()).await;
    let mut client = server.plain(VIEWER).await;
    server.hub.shutdown();
    assert_eq!(client.closed().await, 1001);
    assert!(tokio_tungstenite::connect_async(server.url("")).await.is_err());
}

#[tokio::test]
async fn who_has_work_only_for_an_audience_hears_of_it() {
    let server = Server::start(HubConfig::default()).await;
    let room = Room::Perm(Permission::TorrentsView);
    let mut arrivals = server.hub.arrivals();
    assert!(!server.hub.has_audience(&room));
    let waiting = server.connect("").await;
    assert!(!server.hub.has_audience(&room), "nobody knows yet who that is");
    let viewer = server.plain(VIEWER).await;
    arrivals.changed().await.expect("the hub lives");
    assert!(server.hub.has_audience(&room) && !server.hub.has_audience(&Room::Perm(Permission::FilesView)));
    drop((waiting, viewer));
    server
        .until("both to be gone", |counters| counters.sockets == 0)
        .await;
    assert!(!server.hub.has_audience(&room));
}

#[tokio::test]
async fn the_sockets_of_a_user_whose_sessions_ended_close_and_no_token_of_before_opens_one() {
    let config = HubConfig {
        // The tokens of these tests live for ten minutes, which tells their age.
        token_ttl: Duration::from_mins(10),
        ..HubConfig::default()
    };
    let server = Server::start(config).await;
    let (mut gone, mut other) = (
        server.plain(VIEWER).await,
        server.plain("bob torrents.view 600000").await,
    );
    let mut late = server.connect("").await;
    let now = Ctx::system().now();
    let ended = |at, for_good| SessionsEnded { at, for_good };
    server
        .hub
        .end_sessions("alice", ended(now.plus(Duration::from_secs(2)), false));
    assert_eq!(gone.closed().await, 4401);
    late.auth(VIEWER).await;
    assert_eq!(late.json().await["event"], "auth:error");
    assert_eq!(late.closed().await, 4401);
    server.until("she left", |counters| counters.sockets == 1).await;

    server.hub.end_sessions("alice", ended(now, true));
    let mut again = server.connect("").await;
    again.auth("alice torrents.view 6000000").await;
    assert_eq!(
        again.json().await["event"],
        "auth:error",
        "gone: no token is good"
    );
    server.hub.end_sessions("alice", ended(now, false));
    let mut back = server.plain("alice torrents.view 6000000").await;
    server.hub.end_sessions("alice", ended(now, false));
    server
        .hub
        .emit(Room::Authenticated, "hello", Bytes::from_static(b"1"));
    assert_eq!(
        back.json().await["event"],
        "hello",
        "told again, it closes nobody who came later"
    );
    assert_eq!(other.json().await["event"], "hello", "others stay");
}
