//! Request throttle: requests by method, route pattern and caller, in memory, per process. A caller is an
//! address (IPv6: a /64); the callers of one /48 share a budget ten times as large, because one site may hold
//! all of them. A request leaves the count after 60 s. The request that exceeds the limit blocks its key for
//! 60 s; blocked requests are not counted. Bounds: 16,384 keys, and about 1,200 marks per key; idle keys are
//! dropped, live ones only under pressure.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Mutex;

use qm_kernel::{AddressBlock, Timestamp};
use qm_lanes::IgnorePoison;

const WINDOW_MS: i64 = 60_000;
const SHARDS: usize = 16;
const KEYS_PER_SHARD: usize = 1024;
/// Above this limit requests are marked in steps of 50 ms instead of exactly, so that a high limit costs no
/// memory.
const EXACT_LIMIT: u32 = 1200;
const COARSE_STEP_MS: i64 = 50;

/// Budget of a /48, in budgets of one caller.
const SITE_SHARE: u32 = 10;
/// Flag for the budget of a /48, whose first /64 has the same address.
const SITE: u32 = 1 << 31;

/// Key of a budget: a route with its method (numbered with the router), and a caller.
type Key = (u32, AddressBlock);

pub(crate) struct Throttle {
    shards: [Mutex<HashMap<Key, Hits>>; SHARDS],
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed {
        remaining: u32,
        /// Seconds until the key's current window ends.
        reset_secs: u32,
    },
    Blocked {
        retry_secs: u32,
    },
}

/// Requests of one key within the last minute.
struct Hits {
    /// Marks, the oldest first: time at which each leaves, and its number of requests.
    marks: VecDeque<(i64, u32)>,
    count: u32,
    window_ends: i64,
    blocked_until: Option<i64>,
}

impl Throttle {
    pub(crate) fn new() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }

    pub(crate) fn hit(&self, route: u32, ip: IpAddr, limit: u32, now: Timestamp) -> Verdict {
        let verdict = self.count((route, AddressBlock::containing(ip)), limit, now.ms());
        let Some(site) = AddressBlock::site(ip).filter(|_| matches!(verdict, Verdict::Allowed { .. })) else {
            return verdict;
        };
        match self.count((route | SITE, site), limit.saturating_mul(SITE_SHARE), now.ms()) {
            Verdict::Allowed { .. } => verdict,
            blocked @ Verdict::Blocked { .. } => blocked,
        }
    }

    fn count(&self, key: Key, limit: u32, now: i64) -> Verdict {
        let mut shard = self.shards[shard_of(key)].lock().ignore_poison();
        if shard.len() >= KEYS_PER_SHARD && !shard.contains_key(&key) {
            make_room(&mut shard, now);
        }
        shard.entry(key).or_insert_with(|| Hits::new(now)).hit(limit, now)
    }
}

fn shard_of((route, block): Key) -> usize {
    let low = match block.first() {
        IpAddr::V4(ip) => ip.to_bits(),
        IpAddr::V6(ip) => {
            let bits = ip.to_bits();
            (bits ^ (bits >> 64)) as u32
        }
    };
    (low.wrapping_mul(0x9E37_79B1) ^ route.wrapping_mul(0x85EB_CA6B)) as usize % SHARDS
}

/// Drops idle keys. If every key is live, the one with the oldest last request is dropped, blocked ones last:
/// a flood of addresses may lose some of its own counts, but never unblocks a key.
fn make_room(shard: &mut HashMap<Key, Hits>, now: i64) {
    shard.retain(|_, hits| !hits.is_idle(now));
    if shard.len() >= KEYS_PER_SHARD {
        let oldest = shard
            .iter()
            .min_by_key(|(_, hits)| (hits.blocked_until, hits.last_mark()))
            .map(|(key, _)| *key);
        if let Some(key) = oldest {
            shard.remove(&key);
        }
    }
}

impl Hits {
    fn new(now: i64) -> Self {
        Self {
            marks: VecDeque::new(),
            count: 0,
            window_ends: now + WINDOW_MS,
            blocked_until: None,
        }
    }

    fn hit(&mut self, limit: u32, now: i64) -> Verdict {
        if let Some(until) = self.blocked_until {
            if now < until {
                return Verdict::Blocked {
                    retry_secs: seconds(until - now),
                };
            }
            *self = Self::new(now);
        }
        self.expire(now);
        if self.window_ends <= now {
            self.window_ends = now + WINDOW_MS;
        }
        self.mark(limit, now);
        if self.count > limit {
            self.blocked_until = Some(now + WINDOW_MS);
            self.marks = VecDeque::new();
            return Verdict::Blocked {
                retry_secs: seconds(WINDOW_MS),
            };
        }
        Verdict::Allowed {
            remaining: limit - self.count,
            reset_secs: seconds(self.window_ends - now),
        }
    }

    fn mark(&mut self, limit: u32, now: i64) {
        let step = if limit > EXACT_LIMIT { COARSE_STEP_MS } else { 1 };
        let leaves = (now + WINDOW_MS)
            .div_euclid(step)
            .saturating_add(i64::from(step > 1))
            * step;
        self.count += 1;
        match self.marks.back_mut() {
            // `>=`: the clock was set back; the request leaves with the mark before it.
            Some((at, hits)) if *at >= leaves => *hits += 1,
            _ => self.marks.push_back((leaves, 1)),
        }
    }

    fn expire(&mut self, now: i64) {
        while let Some((leaves, hits)) = self.marks.front()
            && *leaves <= now
        {
            self.count -= hits;
            self.marks.pop_front();
        }
    }

    fn last_mark(&self) -> i64 {
        self.marks.back().map_or(0, |(leaves, _)| *leaves)
    }

    fn is_idle(&self, now: i64) -> bool {
        self.blocked_until.is_none_or(|until| until <= now) && self.last_mark() <= now
    }
}

fn seconds(ms: i64) -> u32 {
    (ms.max(0) as u64).div_ceil(1000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn after_ms(ms: i64) -> Timestamp {
        Timestamp::from_ms(1_900_000_000_000 + ms)
    }

    fn allowed(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Allowed { .. })
    }

    #[test]
    fn each_hit_leaves_sixty_seconds_after_it_was_made() {
        let throttle = Throttle::new();
        let hit = |ms| throttle.hit(1, IP, 3, after_ms(ms));
        assert_eq!(
            hit(0),
            Verdict::Allowed {
                remaining: 2,
                reset_secs: 60
            }
        );
        assert_eq!(
            hit(20_500),
            Verdict::Allowed {
                remaining: 1,
                reset_secs: 40
            }
        );
        assert_eq!(
            hit(40_000),
            Verdict::Allowed {
                remaining: 0,
                reset_secs: 20
            }
        );
        // The first has left, the second and third still count.
        assert_eq!(
            hit(60_000),
            Verdict::Allowed {
                remaining: 0,
                reset_secs: 60
            }
        );
        assert_eq!(hit(80_499), Verdict::Blocked { retry_secs: 60 });
    }

    #[test]
    fn the_hit_over_the_limit_blocks_for_a_full_minute() {
        let throttle = Throttle::new();
        let hit = |ms| throttle.hit(1, IP, 2, after_ms(ms));
        assert!(allowed(&hit(0)) && allowed(&hit(1)));
        assert_eq!(hit(50_000), Verdict::Blocked { retry_secs: 60 });
        assert_eq!(hit(70_000), Verdict::Blocked { retry_secs: 40 });
        assert_eq!(hit(109_999), Verdict::Blocked { retry_secs: 1 });
        assert_eq!(
            hit(110_000),
            Verdict::Allowed {
                remaining: 1,
                reset_secs: 60
            }
        );
    }

    #[test]
    fn routes_and_addresses_have_budgets_of_their_own() {
        let throttle = Throttle::new();
        let other: IpAddr = "2001:db8::1".parse().unwrap();
        assert!(allowed(&throttle.hit(1, IP, 1, after_ms(0))));
        assert!(!allowed(&throttle.hit(1, IP, 1, after_ms(0))));
        assert!(allowed(&throttle.hit(2, IP, 1, after_ms(0))));
        assert!(allowed(&throttle.hit(1, other, 1, after_ms(0))));
    }

    #[test]
    fn addresses_of_one_network_share_a_budget() {
        let throttle = Throttle::new();
        let hit = |network: u128, host: u128| {
            let ip = (0x2001_0db8_0001_u128 << 80) | (network << 64) | host;
            allowed(&throttle.hit(1, IpAddr::V6(ip.into()), 3, after_ms(0)))
        };
        assert!(hit(0, 1) && hit(0, 2) && hit(0, u128::from(u64::MAX)));
        assert!(!hit(0, 4), "a fourth address of the same /64");
        assert!((1..=9).all(|network| (1..=3).all(|host| hit(network, host))));
        assert!(!hit(10, 1), "the /48 has spent ten budgets");
        let mapped = |text: &str| allowed(&throttle.hit(1, text.parse().unwrap(), 1, after_ms(0)));
        assert!(mapped("::ffff:198.51.100.7") && !mapped("198.51.100.7"));
        assert!(mapped("::ffff:198.51.100.8"), "IPv4 inside IPv6 is IPv4");
    }

    #[test]
    fn memory_is_bounded_in_keys_and_in_marks() {
        let throttle = Throttle::new();
        assert!(
            !allowed(&throttle.hit(9, IP, 0, after_ms(0))),
            "blocked from the first hit"
        );
        for number in 0..100_000_u32 {
            throttle.hit(1, IpAddr::V4(number.into()), 120, after_ms(0));
        }
        let keys = |throttle: &Throttle| {
            throttle
                .shards
                .iter()
                .map(|s| s.lock().unwrap().len())
                .sum::<usize>()
        };
        assert!(keys(&throttle) <= SHARDS * KEYS_PER_SHARD);
        assert!(
            !allowed(&throttle.hit(9, IP, 0, after_ms(1))),
            "a flood of addresses opens no blocked key"
        );

        for ms in 0..60_000 {
            assert!(allowed(&throttle.hit(2, IP, u32::MAX, after_ms(ms))));
        }
        let marks: usize = throttle
            .shards
            .iter()
            .filter_map(|s| {
                Some(
                    s.lock()
                        .unwrap()
                        .get(&(2, AddressBlock::containing(IP)))?
                        .marks
                        .len(),
                )
            })
            .sum();
        assert!(marks <= 1202, "{marks}");
    }

    #[test]
    fn a_clock_set_back_neither_panics_nor_forgives() {
        let throttle = Throttle::new();
        assert!(allowed(&throttle.hit(1, IP, 2, after_ms(100_000))));
        assert!(allowed(&throttle.hit(1, IP, 2, after_ms(0))));
        assert!(!allowed(&throttle.hit(1, IP, 2, after_ms(10))));
    }
}
