//! Conversion from the records of the core to those of the contract.

use media_core as core;
use sdk_media::{Abilities, ExternalId, ServerError, Session, StatusError};

pub fn abilities(can: core::Abilities) -> Abilities {
    let all = [
        (can.libraries, Abilities::LIBRARIES),
        (can.recently_added, Abilities::RECENTLY_ADDED),
        (can.sessions, Abilities::SESSIONS),
        (can.watch_history, Abilities::WATCH_HISTORY),
        (can.refresh, Abilities::REFRESH),
        (can.terminate_sessions, Abilities::TERMINATE_SESSIONS),
        (can.refresh_library, Abilities::REFRESH_LIBRARY),
        (can.refresh_path, Abilities::REFRESH_PATH),
    ];
    let offered = all.into_iter().filter(|(can, _)| *can);
    offered.fold(Abilities::empty(), |sum, (_, flag)| sum | flag)
}

pub fn session(given: core::Playing) -> Session {
    let external = |(source, id): (&str, String)| ExternalId {
        source: source.to_owned(),
        id,
    };
    Session {
        id: given.id,
        user_id: given.user_id,
        user_name: given.user_name,
        title: given.title,
        show_title: given.show_title,
        episode_title: given.episode_title,
        season: given.season,
        episode: given.episode,
        year: given.year,
        media_type: given.media_type,
        library_name: given.library_name,
        device: given.device,
        client: given.client,
        ip_address: given.ip_address,
        playback_state: given.playback_state,
        progress_percent: given.progress_percent,
        playback_method: given.playback_method,
        video_codec: given.video_codec,
        audio_codec: given.audio_codec,
        resolution: given.resolution,
        dynamic_range: given.dynamic_range,
        container: given.container,
        bitrate: given.bitrate,
        art_path: given.art_path,
        external_ids: given.external_ids.into_iter().map(external).collect(),
        extra: Vec::new(),
    }
}

pub fn fault(fault: core::Fault) -> ServerError {
    use ServerError as E;
    use core::Fault as F;
    match fault {
        F::Unreachable(why) => E::Unreachable(why),
        F::Timeout(why) => E::Timeout(why),
        F::Auth(why) => E::Auth(why),
        F::Status { status, message } => E::Status(StatusError { status, message }),
        F::Unparsable(why) => E::Unparsable(why),
        F::TooLarge(why) => E::TooLarge(why),
        F::Redirected(why) => E::Redirected(why),
        F::InvalidConfig(why) => E::InvalidConfig(why),
        F::Unsupported(why) => E::Unsupported(why),
        F::Denied(why) => E::Denied(why),
    }
}
