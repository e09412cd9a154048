//! Limits of sharing and of speed, seen in the client itself, also after its restart.

use qm_testkit::generations::Program;
use qm_testkit::rtorrent::Mode;
use qm_testkit::sample::{Format, Sample};
use qm_testkit::wait::until_true;
use qm_testkit::xmlrpc::Param;
use qm_testkit::{Api, TestDb, TestServer, every_generation};
use serde_json::{Value, json};

use crate::client::{Client, Doing};

const PLUGINS: &[&str] = &["scgi_client.wasm", "webapi_client.wasm"];
const ANNOUNCE: &str = "http://127.0.0.1:9/announce";

every_generation! { rtorrent: an_rtorrent_is_held_to_limits }

every_generation! { qbittorrent: a_qbittorrent_is_held_to_limits }

async fn an_rtorrent_is_held_to_limits(db: &TestDb, program: &Program) {
    hold_to_limits(db, Client::rtorrent_of(program, Mode::Tcp).await).await;
}

async fn a_qbittorrent_is_held_to_limits(db: &TestDb, program: &Program) {
    hold_to_limits(db, Client::qbittorrent_of(program).await).await;
}

/// A number that a client tells as a number or as a text.
fn number(value: &Value) -> i64 {
    let of_text = || value.as_str().and_then(|text| text.parse().ok());
    value.as_i64().or_else(of_text).unwrap_or(-1)
}

/// Upload and download limits in force, as the client says.
async fn speed(client: &Client) -> (i64, i64) {
    match client {
        Client::Rtorrent(client) => {
            let up = client
                .call("throttle.global_up.max_rate", &[Param::Text("")])
                .await;
            let down = client
                .call("throttle.global_down.max_rate", &[Param::Text("")])
                .await;
            (number(&up), number(&down))
        }
        Client::Qbittorrent(client) => {
            let info = client.get("transfer/info").await;
            (number(&info["up_rate_limit"]), number(&info["dl_rate_limit"]))
        }
    }
}

async fn until_speed(client: &Client, wanted: (i64, i64)) {
    let what = format!("the client to have the limits {wanted:?}");
    until_true(&what, || async { speed(client).await == wanted }).await;
}

async fn hold_to_limits(db: &TestDb, mut client: Client) {
    let root = client.downloads();
    let server = TestServer::builder(db)
        .plugins(PLUGINS)
        .env("FILE_MANAGER_ROOTS", root.display().to_string())
        .start()
        .await;
    let api = server.admin();
    let stays = Sample::new("stays.bin", 300_000, 71, Format::V1, ANNOUNCE);
    let goes = Sample::new("goes.bin", 200_000, 72, Format::V1, ANNOUNCE);
    for sample in [&stays, &goes] {
        client.seed(sample).await;
    }
    let engine = api.add_engine("limited", client.kind(), client.config()).await;
    for sample in [&stays, &goes] {
        let seeds = |torrent: &Value| torrent["state"] == json!("seeding");
        api.until_torrent(&engine, &sample.hash, "it to be shown as seeding", seeds)
            .await;
    }
    share(&api, &engine, &mut client, (&stays, &goes)).await;
    assert!(!goes.is_in(&root), "its data is gone");
    hold_speed(&api, &engine, &mut client).await;
    server.end().await;
}

async fn share(api: &Api, engine: &str, client: &mut Client, (stays, goes): (&Sample, &Sample)) {
    let path = |sample: &Sample| format!("/api/torrents/{}/share-limits?engineId={engine}", sample.hash);
    // By the engine it would stop at once; for the other torrent a time of its own counts.
    let with_data = json!({ "ratio": "none", "seedingTime": 3, "action": "removeWithData" });
    let set = api.put(&path(goes), with_data).await;
    assert_eq!(
        set["effective"]["seedingTime"]["source"],
        json!("torrent"),
        "{set}"
    );
    let of_engine = format!("/api/engines/{engine}/share-limits");
    api.put(&of_engine, json!({ "ratio": 0 })).await;
    until_true("the ratio to stop the torrent in the client", || async {
        client.doing(&stays.hash).await == client.stopped()
    })
    .await;
    until_true("the seeding time to remove the other one", || async {
        !client.lists(&goes.hash).await
    })
    .await;
    until_true("the ledger to say that it is done", || async {
        api.get(&path(stays)).await["standing"]["reached"]["state"] == json!("done")
    })
    .await;

    // Somebody starts it again: the same limits stop it no second time, also after a restart of the client.
    api.act(&format!("/api/torrents/{}/start?engineId={engine}", stays.hash))
        .await;
    let seeds = |torrent: &Value| torrent["state"] == json!("seeding");
    api.until_torrent(engine, &stays.hash, "it to seed again", seeds)
        .await;
    client.store_session().await;
    client.restart().await;
    until_true("the client to list it again", || client.lists(&stays.hash)).await;
    until_true("it to run in the client after the restart", || async {
        client.doing(&stays.hash).await == Doing::Running
    })
    .await;
    // Other limits act; the audit shows that the first ones have not acted again meanwhile.
    api.put(&path(stays), json!({ "ratio": "none", "seedingTime": 1 }))
        .await;
    until_true("the seeding time to stop it", || async {
        client.doing(&stays.hash).await == client.stopped()
    })
    .await;
    let audited = async || {
        let audited = api.get("/api/audit?action=torrents.limits.act").await;
        audited["items"].as_array().map_or(0, Vec::len)
    };
    until_true("the audit of the last stop", || async { audited().await >= 3 }).await;
    assert_eq!(audited().await, 3, "two stops and a removal");
}

async fn hold_speed(api: &Api, engine: &str, client: &mut Client) {
    let path = format!("/api/engines/{engine}/speed");
    let body = json!({
        "upload": 409_600, "download": 819_200, "alternative": { "upload": 10_240, "download": 20_480 },
        "schedule": [{ "days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "00:00", "to": "24:00", "mode": "alternative" }],
    });
    let set = api.put(&path, body).await;
    assert_eq!(
        (&set["mode"], &set["current"]),
        (&json!("auto"), &json!("alternative")),
        "{set}"
    );
    until_speed(client, (10_240, 20_480)).await;
    api.post(&format!("{path}/mode"), json!({ "mode": "normal" }))
        .await;
    until_speed(client, (409_600, 819_200)).await;
    until_true("the server to say so", || async {
        let shown = api.get(&path).await;
        shown["isApplied"] == json!(true) && shown["current"] == json!("normal")
    })
    .await;
    // What a client loses when it ends, or what somebody sets in it, is put back.
    client.restart().await;
    until_speed(client, (409_600, 819_200)).await;
    client.throttle(5120).await;
    until_speed(client, (409_600, 819_200)).await;
    let overlap = json!({ "schedule": [
        { "days": ["mon"], "from": "22:00", "to": "06:00", "mode": "alternative" },
        { "days": ["tue"], "from": "05:00", "to": "07:00", "mode": "alternative" },
    ] });
    let refused = api.send("PUT", &path, Some(&overlap)).await;
    assert_eq!(refused.status, 400);
    let text = refused.text();
    assert!(
        text.contains(
            "schedule[1] (tue 05:00-07:00 alternative) overlaps schedule[0] (mon 22:00-06:00 alternative)"
        ),
        "{text}"
    );
}
