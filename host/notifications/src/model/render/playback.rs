//! Cards of playback. Readers without the permission see the film or episode, and nothing of the user: no
//! name, device, quality or progress.

use qm_platform::notification::NotificationSpec;

use super::builders::{action, card as basic};
use super::text::{Words, avatar, fact};
use crate::model::presentation::{Accent, Fact, Icon, Media, Presentation, Progress};

/// Percentage from which playback counts as resumed.
const RESUMED_FROM: u8 = 5;
/// Percentage from which playback counts as finished.
const FINISHED_FROM: u8 = 90;
const SOMEBODY: &str = "A user";

/// Film, episode or track that is played.
struct Work {
    media: Media,
    label: &'static str,
    icon: Icon,
    /// True for audio.
    is_sound: bool,
}

pub fn card(def: &NotificationSpec, words: &Words<'_>) -> Option<Presentation> {
    let work = work(words)?;
    let sees_people = words.reader.sees_people;
    let name = words.text("userDisplayName").filter(|_| sees_people);
    let name = name.unwrap_or_else(|| SOMEBODY.to_owned());
    let stopped = def.key == "media_server.user_stopped_watching";
    let percent = if stopped {
        "completionPercent"
    } else {
        "progressPercent"
    };
    let percent = words.percent(percent).filter(|_| sees_people);
    let doing = if work.is_sound { "listening" } else { "watching" };
    let verb = match (stopped, percent) {
        (false, Some(RESUMED_FROM..)) => "resumed",
        (false, _) => "started",
        (true, Some(FINISHED_FROM..)) => "finished",
        (true, _) => "stopped",
    };
    let to = if work.is_sound { " to" } else { "" };
    let text = format!("{name} {verb} {doing}{to} {}", line(&work.media));
    let shade = if stopped {
        (Accent::Stopped, Icon::Stop)
    } else {
        (Accent::Started, Icon::Play)
    };
    let (label, href) = if stopped {
        ("Open history", "/media-server-analytics/watch-history")
    } else {
        ("Open live activity", "/media-server-analytics/live")
    };
    Some(Presentation {
        avatar: sees_people.then(|| avatar(&name)),
        context: context(words, stopped, percent).filter(|_| sees_people),
        facts: facts(words, &work, &name, stopped),
        media: Some(work.media.clone()),
        progress: percent.map(|percent| Progress {
            percent,
            label: if stopped { "Watched" } else { "Progress" }.to_owned(),
            position_label: None,
        }),
        action: Some(action(label, href)),
        ..basic(
            def,
            words,
            shade,
            (&name, &format!("{verb} {doing}")),
            (text, Some(work.media.primary.clone())),
        )
    })
}

fn work(words: &Words<'_>) -> Option<Work> {
    let title = words.text("mediaTitle")?;
    let kind = words.text("mediaType").unwrap_or_default().to_lowercase();
    let is_sound = ["music", "track", "audio", "audiobook"].contains(&kind.as_str());
    if is_sound {
        let artist = words.text("showTitle");
        return Some(Work {
            media: media("music", title, artist),
            label: "Track",
            icon: Icon::Activity,
            is_sound,
        });
    }
    if let Some(show) = words.text("showTitle") {
        return Some(Work {
            media: media("episode", show, Some(episode(words, title))),
            label: "Episode",
            icon: Icon::Tv,
            is_sound,
        });
    }
    let title = match words.number("year") {
        Some(year) => format!("{title} ({year})"),
        None => title,
    };
    Some(Work {
        media: media("film", title, None),
        label: "Title",
        icon: Icon::Film,
        is_sound,
    })
}

fn media(kind: &str, primary: String, secondary: Option<String>) -> Media {
    Media {
        kind: kind.to_owned(),
        primary,
        secondary,
    }
}

/// `S01E03 • Title`
fn episode(words: &Words<'_>, title: String) -> String {
    let title = words.text("episodeTitle").unwrap_or(title);
    match (words.number("seasonNumber"), words.number("episodeNumber")) {
        (Some(season), Some(number)) => format!("S{season:02}E{number:02} • {title}"),
        (_, _) => title,
    }
}

/// Both lines of the medium as one.
fn line(media: &Media) -> String {
    match &media.secondary {
        Some(secondary) => format!("{} {secondary}", media.primary),
        None => media.primary.clone(),
    }
}

/// At most two further details.
fn context(words: &Words<'_>, stopped: bool, percent: Option<u8>) -> Option<String> {
    let parts: Vec<String> = if stopped {
        let seen = percent.map(|percent| match percent {
            FINISHED_FROM.. => "Completed".to_owned(),
            _ => format!("{percent}% watched"),
        });
        seen.into_iter().chain(watched(words)).collect()
    } else {
        let resumed = percent
            .filter(|percent| *percent >= RESUMED_FROM)
            .map(|percent| format!("Resumed at {percent}%"));
        let device = words.first(&["device", "client"]);
        resumed.into_iter().chain(quality(words)).chain(device).collect()
    };
    let parts = &parts[..parts.len().min(2)];
    (!parts.is_empty()).then(|| parts.join(" • "))
}

/// `4K HDR`
fn quality(words: &Words<'_>) -> Option<String> {
    let resolution = words.text("resolution")?;
    let resolution = match resolution.to_lowercase().as_str() {
        "4k" | "2160" | "2160p" => "4K".to_owned(),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => format!("{digits}p"),
        _ => resolution,
    };
    let range = words.text("videoDynamicRange");
    let has_range = range.is_some_and(|range| !range.eq_ignore_ascii_case("sdr"));
    Some(if has_range {
        format!("{resolution} HDR")
    } else {
        resolution
    })
}

/// `1h 05m` or `42 min`
fn watched(words: &Words<'_>) -> Option<String> {
    let minutes = words.number("watchedSeconds")? / 60;
    Some(match minutes {
        0..60 => format!("{minutes} min"),
        _ => format!("{}h {:02}m", minutes / 60, minutes % 60),
    })
}

fn facts(words: &Words<'_>, work: &Work, name: &str, stopped: bool) -> Vec<Fact> {
    let mut facts = vec![
        fact(Icon::User, "User", name),
        fact(work.icon, work.label, line(&work.media)),
        words.time(),
    ];
    if words.reader.sees_people {
        let player = words.first(&["device", "client"]);
        facts.extend(player.map(|player| fact(Icon::Monitor, "Player", player)));
        facts.extend(quality(words).map(|quality| fact(Icon::Gauge, "Quality", quality)));
        if stopped {
            let percent = words.percent("completionPercent");
            facts.extend(percent.map(|percent| fact(Icon::Percent, "Progress", format!("{percent}%"))));
            facts.extend(watched(words).map(|time| fact(Icon::Clock, "Watched", time)));
        }
    }
    facts
}
