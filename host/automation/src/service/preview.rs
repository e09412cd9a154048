//! Preview of a rule without running it.
//!
//! Bounds: [`SHOWN`] torrents are listed; the evaluation ends after [`PATIENCE`] and reports how far it came.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use qm_kernel::Timestamp;
use qm_ports::action::Occasion;
use qm_ports::list::{Listed, TorrentList, TorrentRecord};

use super::{Automation, Caller};
use crate::error::AutomationError;
use crate::lanes::PREVIEWS;
use crate::model::answers::{Preview, PreviewedAction, PreviewedTorrent, Standing};
use crate::model::moment::Timed;
use crate::model::rule::{ReadyRule, Rule, RuleChange, type_of};
use crate::model::trigger::{COMPLETED, RATIO, SCHEDULE, Trigger};

/// Largest number of listed torrents.
const SHOWN: usize = 200;
/// Time limit for evaluating all torrents.
const PATIENCE: Duration = Duration::from_secs(2);
/// Torrents evaluated between two looks at the clock.
const LOOK_AT_CLOCK: usize = 64;

impl Automation {
    /// Bytes free where the client of each list saves.
    pub(super) fn free_bytes_of(&self, lists: &[Arc<dyn TorrentList>]) -> HashMap<String, Option<u64>> {
        let engines = lists.iter().map(|list| list.engine_id());
        engines
            .map(|engine_id| (engine_id.to_owned(), self.torrents.free_bytes(engine_id)))
            .collect()
    }

    /// Previews a rule that is not stored.
    pub async fn preview(
        self: &Arc<Self>,
        caller: Caller<'_>,
        new: RuleChange,
    ) -> Result<Preview, AutomationError> {
        let rule = self.draft(new);
        let mut tx = self.db.begin_write().await?;
        self.judge(&mut tx, caller).await?;
        self.settled(&rule.actions)?;
        let lacking = self.lacking(&mut tx, caller, &rule).await?;
        self.book.read_zone(&mut tx).await?;
        drop(tx);
        let catalogue = self.catalogue().await?;
        let occasion = catalogue.occasion_of(&rule);
        let actions = rule.actions.iter().map(|action| {
            let kind = catalogue.get(type_of(action));
            PreviewedAction {
                kind: type_of(action).to_owned(),
                label: kind.map(|kind| kind.label.clone()),
                plugin: kind.map(|kind| kind.plugin.clone()),
                problem: catalogue.refuses(action, occasion).or_else(|| {
                    let keys = lacking.get(type_of(action))?;
                    Some(format!(
                        "You may not store a rule that does this: {keys} is missing"
                    ))
                }),
            }
        });
        let empty = Preview {
            is_known_trigger: Trigger::find(&rule.trigger).is_some(),
            torrents: Vec::new(),
            matched: 0,
            would_fire: 0,
            judged: 0,
            total: 0,
            actions: actions.collect(),
        };
        if occasion == Occasion::Event {
            // Such a rule concerns no torrent.
            return Ok(empty);
        }
        let (lists, now) = (self.torrents.lists(), self.ctx.now());
        let zone = self.book.zone();
        let free = self.free_bytes_of(&lists);
        let judged = PREVIEWS.run(move |_| judge(&rule, (&lists, &free), (now, &zone), empty));
        Ok(judged.await?)
    }
}

fn judge(
    rule: &Rule,
    (lists, free): (&[Arc<dyn TorrentList>], &HashMap<String, Option<u64>>),
    (now, zone): (Timestamp, &TimeZone),
    mut preview: Preview,
) -> Preview {
    // Evaluated like a stored rule, without any trace.
    let ready = ReadyRule::new(rule, 0);
    let begun = Instant::now();
    preview.total = lists.iter().map(|list| list.len()).sum();
    for list in lists {
        let engine_id = list.engine_id();
        let free = free.get(engine_id).copied().flatten();
        for listed in (0..list.len()).map_while(|position| list.entry_at(position)) {
            if preview.judged.is_multiple_of(LOOK_AT_CLOCK) && begun.elapsed() > PATIENCE {
                return preview;
            }
            preview.judged += 1;
            let timed = Timed {
                record: &record(engine_id, listed, now, free),
                at: now,
                zone,
            };
            if ready.conditions.hold(&timed) {
                note(
                    &mut preview,
                    engine_id,
                    listed,
                    standing(&rule.trigger, listed, false),
                );
            }
        }
    }
    preview
}

fn note(preview: &mut Preview, engine_id: &str, listed: Listed<'_>, standing: Standing) {
    preview.matched += 1;
    preview.would_fire += usize::from(standing == Standing::Fires);
    if preview.torrents.len() < SHOWN {
        preview.torrents.push(PreviewedTorrent {
            engine_id: engine_id.to_owned(),
            hash: listed.torrent.hash.to_string(),
            name: listed.torrent.name.clone(),
            standing,
        });
    }
}

pub(super) fn record<'a>(
    engine_id: &'a str,
    listed: Listed<'a>,
    now: Timestamp,
    free_bytes: Option<u64>,
) -> TorrentRecord<'a> {
    TorrentRecord {
        engine_id,
        torrent: listed.torrent,
        now,
        free_bytes,
    }
}

/// State of a rule for a torrent that matches the conditions.
pub(super) fn standing(trigger: &str, listed: Listed<'_>, is_done: bool) -> Standing {
    match trigger {
        COMPLETED if listed.torrent.progress < 1.0 => Standing::Incomplete,
        COMPLETED if is_done => Standing::Done,
        COMPLETED => Standing::Fires,
        RATIO => Standing::WaitsForRatio,
        SCHEDULE => Standing::WaitsForTime,
        _ => Standing::WaitsForEvent,
    }
}
