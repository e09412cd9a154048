//! Names in the conventions of anime translators, and Chinese names.

use super::Writer;
use super::words::*;

pub(super) fn fans(writer: &mut Writer<'_>) {
    writer.lead();
    writer.title(true);
    // Without the numbers that name a codec.
    let number = writer.dice.number(1, 259);
    writer.meant.absolutes = vec![number];
    let version = writer.versioned();
    match writer.dice.roll(5) {
        0 | 1 => {
            writer.say("-");
            writer.say(format!("{number:02}{version}"));
        }
        4 => {
            writer.say("-");
            writer.say(format!("Episode{}{number:02}{version}", writer.gap));
        }
        2 => writer.say(format!("[{number:02}{version}]")),
        _ => writer.say(format!("EP{number:02}{version}")),
    }
    writer.fan_tail();
}

/// A season behind the title, and the number behind a dash: the season stays in the title.
pub(super) fn fan_season(writer: &mut Writer<'_>) {
    writer.lead();
    writer.title(true);
    let season = writer.dice.number(2, 9);
    let number = writer.dice.number(1, 24);
    writer.meant.season = Some(season);
    writer.meant.seasons = vec![season];
    writer.meant.episodes = vec![number];
    if writer.dice.comes(60) {
        writer.meant.absolutes = vec![number];
        writer.meant.title = format!("{} S{season}", writer.meant.title);
        writer.say(format!("S{season}"));
    } else {
        writer.say("Season");
        writer.say(season.to_string());
    }
    writer.say("-");
    writer.say(format!("{number:02}"));
    writer.fan_tail();
}

pub(super) fn batch(writer: &mut Writer<'_>) {
    writer.lead();
    writer.title(true);
    let last = writer.dice.number(10, 60);
    writer.meant.absolutes = (1..=last).collect();
    let gap = writer.gap;
    match writer.dice.roll(4) {
        0 => {
            writer.say("-");
            writer.say(format!("01-{last:02}"));
        }
        1 => writer.say(format!("01{gap}-{gap}{last:02}")),
        2 => writer.say(format!("({}-{last:02})", "01")),
        _ => writer.say(format!("[01-{last:02}]")),
    }
    writer.fan_tail();
    if writer.dice.comes(50) {
        writer.say("[Batch]");
    }
}

pub(super) fn special(writer: &mut Writer<'_>) {
    writer.lead();
    writer.title(true);
    let number = writer.dice.number(1, 9);
    match writer.dice.roll(6) {
        kind @ 0..3 => {
            writer.meant.season = Some(0);
            writer.meant.seasons = vec![0];
            writer.meant.episodes = vec![number];
            let mark = ["SP", "OVA", "OAD"][kind];
            if writer.dice.comes(50) {
                writer.say("-");
            }
            writer.say(format!("{mark}{number:02}"));
        }
        3 => {
            writer.say("-");
            writer.say(format!("{number:02}.5"));
        }
        4 => writer.say(format!("EP{number:02}.5")),
        _ => {
            let mark = writer.dice.pick(&["EX", "ED", "OP", "PV", "NCED", "NCOP"]);
            if writer.dice.comes(50) {
                writer.say("-");
            }
            writer.say(format!("{mark}{number}"));
        }
    }
    writer.fan_tail();
}

pub(super) fn boxed(writer: &mut Writer<'_>) {
    writer.gap = ' ';
    let group = writer.dice.pick(FAN_GROUPS);
    let title = writer.dice.pick(&TITLES[..PLAIN_TITLES]);
    let number = writer.dice.number(1, 99);
    writer.meant.title = title.to_owned();
    writer.meant.group = Some(group.to_owned());
    writer.meant.absolutes = vec![number];
    let version = writer.versioned();
    writer.meant.resolution = Some("1080p");
    writer.say(format!("[{group}][{title}][{number:02}{version}][1080p]"));
}

pub(super) fn signed(writer: &mut Writer<'_>) {
    writer.gap = ' ';
    writer.title(false);
    let group = writer.dice.pick(FAN_GROUPS);
    writer.meant.group = Some(group.to_owned());
    writer.say(format!("[{group}]"));
    let resolution = writer.dice.pick(&["1080p", "720p"]);
    writer.meant.resolution = Some(resolution);
    if writer.dice.comes(50) {
        writer.say(format!("({resolution})"));
    } else {
        writer.meant.source = Some("BluRay");
        writer.say(format!("[BD {resolution}]"));
    }
}

pub(super) fn han(writer: &mut Writer<'_>) {
    writer.gap = ' ';
    let (title, group) = (writer.dice.pick(HAN_TITLES), writer.dice.pick(HAN_GROUPS));
    let number = writer.dice.number(1, 24);
    writer.meant.title = title.to_owned();
    writer.meant.resolution = Some("1080p");
    if writer.dice.comes(50) {
        writer.meant.group = Some(group.to_owned());
        writer.meant.absolutes = vec![number];
        let month = writer.dice.pick(&["1", "4", "7", "10"]);
        match writer.dice.roll(3) {
            0 => writer.say(format!("[{group}][{month}月新番][{title}][{number:02}][1080P]")),
            1 => writer.say(format!("【{group}】★{month}月新番★[{title}][{number:02}][1080P]")),
            _ => writer.say(format!("[{group}][{title}][第{number:02}话][1080P]")),
        }
        return;
    }
    let season = writer.dice.number(1, 9);
    let counter = writer.dice.pick(&["话", "話", "集"]);
    let kind = writer.dice.roll(4);
    if kind == 3 {
        writer.meant.absolutes = vec![number];
        writer.say(format!("{title} {number:02}{counter} [1080p]"));
        return;
    }
    writer.meant.season = Some(season);
    writer.meant.seasons = vec![season];
    writer.meant.episodes = vec![number];
    let ordinal = ["一", "二", "三", "四", "五", "六", "七", "八", "九"][season as usize - 1];
    writer.say(match kind {
        0 => format!("{title} 第{season}季 第{number:02}{counter} [1080p]"),
        1 => format!("{title} 第{season}期 {number:02}{counter} [1080p]"),
        _ => format!("{title} 第{ordinal}季 第{number:02}{counter} [1080p]"),
    });
}
