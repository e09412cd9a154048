//! Names of series and movies in the scene's conventions.

use super::Writer;
use super::words::*;

pub(super) fn episode(writer: &mut Writer<'_>) {
    let fans = writer.dice.comes(15);
    if fans {
        writer.lead();
    }
    writer.title(false);
    if !fans && writer.dice.comes(20) {
        let year = writer.year();
        writer.say(year.to_string());
    }
    let (season, episode) = (writer.season(), writer.dice.number(1, 60));
    writer.meant.episodes = vec![episode];
    let marker = match writer.dice.roll(7) {
        0 | 1 => format!("S{season:02}E{episode:02}"),
        2 => format!("s{season:02}e{episode:02}"),
        3 => format!("S{season}E{episode}"),
        4 => format!("{season}x{episode:02}"),
        5 => format!("S{season:02}xE{episode:02}"),
        _ => format!("S{season:02}.E{episode:02}").replace('.', &writer.gap.to_string()),
    };
    writer.say(marker);
    writer.own_title();
    let group = writer.meant.group.take();
    if group.is_some() {
        writer.quality();
        writer.codec(false);
        writer.meant.group = group;
    } else {
        writer.tail();
    }
}

pub(super) fn span(writer: &mut Writer<'_>) {
    writer.title(false);
    let (season, first) = (writer.season(), writer.dice.number(1, 20));
    let near = first + writer.dice.number(1, 3);
    let far = first + writer.dice.number(2, 30);
    let (last, marker) = match writer.dice.roll(9) {
        0 => (near, format!("S{season:02}E{first:02}E{:02}", first + 1)),
        1 => (near, format!("S{season:02}E{first:02}-E{near:02}")),
        2 => (far, format!("S{season:02}E{first:02}-E{far:02}")),
        3 => (far, format!("S{season:02}E{first:02}-{far:02}")),
        4 => (near, format!("{season}x{first:02}_{:02}", first + 1)),
        5 => (near, format!("{season}x{first:02}-{season}x{near:02}")),
        6 => (far, format!("S{season:02}E{first:02}-S{season:02}E{far:02}")),
        7 => (
            far,
            format!("S{season}E{first}-{far} of {far}").replace(' ', &writer.gap.to_string()),
        ),
        _ => (far, format!("{season}x{first:02}-{far:02}")),
    };
    let one = marker.contains('_') && !marker.contains("of")
        || marker.ends_with(&format!("E{:02}", first + 1)) && !marker.contains('-');
    let last = if one { first + 1 } else { last };
    writer.meant.episodes = (first..=last).collect();
    writer.say(marker);
    writer.tail();
}

pub(super) fn loose_episode(writer: &mut Writer<'_>) {
    let fans = writer.dice.comes(30);
    if fans {
        writer.lead();
    }
    writer.title(false);
    let (season, episode) = (writer.season(), writer.dice.number(1, 24));
    if writer.dice.comes(20) {
        writer.meant.episodes = Vec::new();
        let extra = writer.dice.pick(&["Extras", "Featurettes", "Bonus"]);
        if extra == "Extras" && writer.dice.comes(50) {
            writer.say(format!("S{season:02}{extra}"));
        } else {
            writer.say(format!("S{season:02}"));
            writer.say(extra);
            if writer.dice.comes(50) {
                let number = writer.dice.number(1, 9);
                writer.say(format!("{number:02}"));
            }
        }
    } else {
        writer.meant.episodes = vec![episode];
        writer.say(format!("S{season:02}"));
        writer.say(format!("{episode:02}"));
    }
    let group = writer.meant.group.take();
    writer.quality();
    if group.is_some() {
        writer.codec(false);
        writer.meant.group = group;
    } else {
        writer.codec(false);
        writer.group();
    }
}

pub(super) fn one_of(writer: &mut Writer<'_>) {
    let fans = writer.dice.comes(40);
    if fans {
        writer.lead();
    }
    writer.title(true);
    let all = writer.dice.number(2, 26);
    let number = writer.dice.number(1, all);
    if fans {
        writer.meant.absolutes = vec![number];
    } else {
        writer.meant.season = Some(1);
        writer.meant.seasons = vec![1];
        writer.meant.episodes = vec![number];
    }
    let gap = writer.gap;
    match writer.dice.roll(3) {
        0 => writer.say(format!("{number}{gap}of{gap}{all}")),
        1 => writer.say(format!("[{number:02}{gap}of{gap}{all}]")),
        _ => writer.say(format!("({number}{gap}of{gap}{all})")),
    }
    if fans {
        writer.fan_tail();
    } else {
        writer.own_title();
        writer.tail();
    }
}

pub(super) fn compact(writer: &mut Writer<'_>) {
    if writer.gap == '_' {
        writer.gap = '.';
    }
    writer.title(true);
    if writer.dice.comes(30) {
        let year = writer.year();
        writer.say(year.to_string());
    }
    let season = writer.dice.number(1, 9);
    // Without the numbers of resolutions.
    let first = writer.dice.number(1, 17);
    let several = writer.dice.number(1, 3);
    writer.meant.season = Some(season);
    writer.meant.seasons = vec![season];
    for episode in first..first + several {
        writer.meant.episodes.push(episode);
        writer.say(format!("{season}{episode:02}"));
    }
    let resolution = writer.dice.pick(&["720p", "1080p", "480p"]);
    writer.meant.resolution = Some(resolution);
    writer.meant.source = Some("HDTV");
    writer.say(resolution);
    writer.say("HDTV");
    writer.codec(false);
    writer.group();
}

pub(super) fn pack(writer: &mut Writer<'_>) {
    writer.title(false);
    let first = writer.dice.number(1, 9);
    let last = first + writer.dice.number(1, 9);
    let gap = writer.gap;
    let several = writer.dice.comes(60);
    writer.meant.season = Some(first);
    writer.meant.seasons = if several {
        (first..=last).collect()
    } else {
        vec![first]
    };
    let marker = match (several, writer.dice.roll(7)) {
        (true, 0) => format!("S{first:02}-S{last:02}"),
        (true, 1) => format!("S{first:02}-{last:02}"),
        (true, 2) => format!("Season{gap}{first:02}-{last:02}"),
        (true, 3) => format!("S{first:02}{gap}to{gap}S{last:02}"),
        (true, 4) => format!("Staffel{gap}{first}-{last}"),
        (true, 5) => format!("(S{first:02}-{last:02})"),
        (true, _) => format!("Seasons{gap}{first}{gap}to{gap}{last}"),
        (false, 0 | 1) => format!("S{first:02}"),
        (false, 2 | 3) => format!("Season{gap}{first}"),
        (false, _) => format!("S{first:02}{gap}COMPLETE"),
    };
    writer.say(marker);
    writer.tail();
}

pub(super) fn day(writer: &mut Writer<'_>) {
    writer.title(true);
    let (year, month, day) = (
        writer.dice.number(2005, 2026),
        writer.dice.number(1, 12),
        writer.dice.number(13, 28),
    );
    writer.meant.date = Some(format!("{year}-{month:02}-{day:02}"));
    let gap = writer.gap;
    let marker = match writer.dice.roll(7) {
        0 | 1 => format!("{year}{gap}{month:02}{gap}{day:02}"),
        2 => format!("{year}{gap}{day:02}{gap}{month:02}"),
        3 => format!("{day:02}{gap}{month:02}{gap}{year}"),
        4 => format!("{year}-{month:02}-{day:02}"),
        5 => format!("{:02}{month:02}{day:02}", year % 100),
        _ => format!("{year}{month:02}{day:02}"),
    };
    writer.say(marker);
    writer.tail();
}

pub(super) fn movie(writer: &mut Writer<'_>) {
    writer.title(false);
    if writer.dice.comes(10) {
        writer.say("3D");
    }
    let before = writer.dice.comes(20);
    let edition = writer.dice.comes(30).then(|| writer.dice.pick(EDITIONS));
    if let Some((written, value)) = edition {
        writer.meant.edition = Some(value);
        if before {
            writer.phrase(written);
        }
    }
    let year = writer.year();
    writer.say(year.to_string());
    if let Some((written, _)) = edition.filter(|_| !before) {
        writer.phrase(written);
    }
    writer.tail();
}

pub(super) fn bracketed_movie(writer: &mut Writer<'_>) {
    writer.gap = ' ';
    writer.title(false);
    let year = writer.year();
    writer.say(format!("({year})"));
    let resolution = writer.dice.pick(RESOLUTIONS);
    let (codec, value) = writer.dice.pick(CODECS);
    let group = writer.dice.pick(GROUPS);
    writer.meant.resolution = Some(resolution);
    writer.meant.source = Some("BluRay");
    writer.meant.group = Some(group.to_owned());
    if writer.dice.comes(50) {
        writer.meant.codec = Some(value);
        writer.say(format!("({resolution} BluRay {codec} {group})"));
    } else {
        writer.say(format!("[{resolution}] [BluRay] [{group}]"));
    }
}
