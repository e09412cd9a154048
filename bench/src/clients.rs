//! Real clients filled with stopped fake torrents.

use qm_testkit::qbittorrent::Qbittorrent;
use qm_testkit::rtorrent::Rtorrent;
use qm_testkit::sample::{Format, Sample};
use qm_testkit::wait::until;
use qm_testkit::xmlrpc::Param;

/// A small unique torrent without available data.
fn fake(number: u64) -> Sample {
    let name = format!(
        "Some.Show.S{:02}E{:02}.1080p.WEB-DL.x264-GROUP.{number}.mkv",
        number % 30,
        number % 24
    );
    Sample::new(
        &name,
        20_000,
        number + 1,
        Format::V1,
        "http://127.0.0.1:9/announce",
    )
}

pub async fn fill_rtorrent(client: &Rtorrent, torrents: u64) {
    for number in 0..torrents {
        client
            .call(
                "load.raw",
                &[Param::Text(""), Param::Bytes(&fake(number).metainfo)],
            )
            .await;
    }
    until("rTorrent to list them all", || async {
        (client.hashes().await.len() as u64 == torrents).then_some(())
    })
    .await;
}

pub async fn fill_qbittorrent(client: &Qbittorrent, torrents: u64) {
    let samples: Vec<Sample> = (0..torrents).map(fake).collect();
    for samples in samples.chunks(250) {
        client.add_all_paused(samples).await;
    }
    until("qBittorrent to list them all", || async {
        (client.hashes().await.len() as u64 == torrents).then_some(())
    })
    .await;
}
