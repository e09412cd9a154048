//! Limits of the whole client, and of one torrent by a throttle group of its own.
//!
//! rTorrent has no limit of a torrent, but named groups: `throttle.up` and `throttle.down` set a group's rate, and
//! `d.throttle_name.set` puts a torrent that is not running into one. What its documentation does not tell, and tests
//! against the real client do: groups count only while the client as a whole has a limit; and a group whose rate goes
//! back to 0 lets nothing through at all. So "unlimited" is said as [`UNLIMITED_BYTES`] wherever groups are in use.

use crate::client::{Call, Client};
use crate::commands::parts;
use crate::error::Error;
use crate::wire::{Clock, Transport};
use crate::xml::{Param, Value};
use engine_model::RateLimits;

/// The highest rate rTorrent takes, bytes per second: as good as none.
pub const UNLIMITED_BYTES: u64 = 1 << 30;
/// Rates are kept in these.
const KIB: u64 = 1024;
const GROUP_PREFIX: &str = "qm_";

/// A rate of the whole client as a limit.
pub fn limit_of_rate(rate: u64) -> Option<u64> {
    (rate > 0 && rate < UNLIMITED_BYTES).then_some(rate)
}

/// The throttle group of a torrent.
pub fn group(target: &str) -> String {
    format!("{GROUP_PREFIX}{}", target.to_ascii_lowercase())
}

#[derive(Clone, Copy)]
enum Direction {
    Down,
    Up,
}

impl Direction {
    fn group_rate(self) -> &'static str {
        match self {
            Direction::Down => "throttle.down",
            Direction::Up => "throttle.up",
        }
    }

    fn client_rate(self) -> &'static str {
        match self {
            Direction::Down => "throttle.global_down.max_rate",
            Direction::Up => "throttle.global_up.max_rate",
        }
    }

    fn set_client_rate(self) -> &'static str {
        match self {
            Direction::Down => "throttle.global_down.max_rate.set",
            Direction::Up => "throttle.global_up.max_rate.set",
        }
    }
}

impl<T: Transport, C: Clock> Client<T, C> {
    pub fn rate_limits(&self) -> Result<RateLimits, Error> {
        let answers = self.multicall(&[
            (Direction::Down.client_rate(), vec!["".into()]),
            (Direction::Up.client_rate(), vec!["".into()]),
        ])?;
        let [down, up] = parts(answers)?;
        Ok(RateLimits {
            download: limit_of_rate(down?.uint()),
            upload: limit_of_rate(up?.uint()),
        })
    }

    pub fn set_rate_limits(&self, limits: RateLimits) -> Result<(), Error> {
        // Without any limit the groups would count no more, so one that is as good as none stands in for it.
        let unlimited = if self.uses_groups()? { UNLIMITED_BYTES } else { 0 };
        self.set_client_rate(Direction::Down, limits.download.unwrap_or(unlimited))?;
        self.set_client_rate(Direction::Up, limits.upload.unwrap_or(unlimited))
    }

    /// Limits one torrent, 0 = unlimited; a direction that is not given stays as it is.
    pub(crate) fn limit(
        &self,
        target: &str,
        upload: Option<u64>,
        download: Option<u64>,
    ) -> Result<(), Error> {
        let answers = self.multicall(&[
            ("d.throttle_name", vec![target.into()]),
            ("d.is_active", vec![target.into()]),
        ])?;
        let [name, active] = parts(answers)?;
        let (name, active) = (name?.text(), active?.int() != 0);
        let group = group(target);
        let is_in_a_group = !name.is_empty() && name != "NULL";
        if !is_in_a_group && upload.unwrap_or(0) == 0 && download.unwrap_or(0) == 0 {
            return Ok(());
        }
        self.set_group(&group, upload, download)?;
        if name == group {
            return Ok(());
        }
        match self.join_group(target, &group, active) {
            // It began to run meanwhile: its check ended, say.
            Err(Error::Rejected(_)) if !active => self.join_group(target, &group, true),
            joined => joined,
        }
    }

    /// Makes a group, or changes its rates, and makes sure that groups count.
    pub(crate) fn set_group(
        &self,
        group: &str,
        upload: Option<u64>,
        download: Option<u64>,
    ) -> Result<(), Error> {
        let given = [(Direction::Up, upload), (Direction::Down, download)];
        for (direction, limit) in given
            .into_iter()
            .filter_map(|(direction, limit)| Some((direction, limit?)))
        {
            if limit > 0 && self.call(direction.client_rate(), &["".into()])??.int() == 0 {
                self.set_client_rate(direction, UNLIMITED_BYTES)?;
            }
            let rate = group_kib(limit).to_string();
            self.call(
                direction.group_rate(),
                &["".into(), group.into(), Param::Text(&rate)],
            )??;
        }
        Ok(())
    }

    /// A torrent changes its group only while it is not running. Pausing does not tell its trackers, stopping would.
    fn join_group(&self, target: &str, group: &str, active: bool) -> Result<(), Error> {
        let mut calls: Vec<Call<'_>> = Vec::new();
        if active {
            calls.push(("d.pause", vec![target.into()]));
        }
        calls.push(("d.throttle_name.set", vec![target.into(), group.into()]));
        if active {
            calls.push(("d.resume", vec![target.into()]));
        }
        calls.push(("d.throttle_name", vec![target.into()]));
        let mut answers = self.multicall(&calls)?;
        let name = answers.pop().map(|answer| answer.map(|name| name.text()));
        for answer in answers {
            answer?;
        }
        match name {
            Some(Ok(name)) if name == group => Ok(()),
            Some(Err(fault)) => Err(fault.into()),
            _ => Err(Error::Rejected(
                "rTorrent did not put the torrent into its throttle group".to_owned(),
            )),
        }
    }

    /// Sets a rate of the whole client and asks whether it is set: at high rates rTorrent sets it and reports a fault
    /// that is about the number of slots.
    fn set_client_rate(&self, direction: Direction, rate: u64) -> Result<(), Error> {
        let rate = match rate {
            0 => 0,
            rate => rate.clamp(KIB, UNLIMITED_BYTES),
        };
        let answers = self.multicall(&[
            (
                direction.set_client_rate(),
                vec!["".into(), Param::Int(rate as i64)],
            ),
            (direction.client_rate(), vec!["".into()]),
        ])?;
        let [set, now] = parts(answers)?;
        match (set, now?.uint()) {
            (_, now) if now / KIB == rate / KIB => Ok(()),
            (Err(fault), _) => Err(fault.into()),
            (Ok(_), now) => Err(Error::Rejected(format!(
                "rTorrent set the limit to {now} instead of {rate} bytes/s"
            ))),
        }
    }

    /// True when any torrent is limited by a group.
    fn uses_groups(&self) -> Result<bool, Error> {
        let list = self.call(
            "d.multicall2",
            &["".into(), "main".into(), "d.throttle_name=".into()],
        )??;
        let is_group = |row: &Value| {
            row.array()
                .first()
                .is_some_and(|name| name.text().starts_with(GROUP_PREFIX))
        };
        Ok(list.array().iter().any(is_group))
    }
}

/// A limit as a group takes it; never 0, which lets nothing through.
fn group_kib(bytes: u64) -> u64 {
    match bytes {
        0 => UNLIMITED_BYTES / KIB,
        bytes => bytes.div_ceil(KIB).min(UNLIMITED_BYTES / KIB),
    }
}
