//! Sorted orders and rendered pages of one version of a list; they live and die with that version.
//!
//! Bounds: 8 MiB and 2,000 pages a version, beyond which pages are rendered anew each time; one order a sort field and direction.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock, Mutex, RwLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use qm_lanes::IgnorePoison;
use qm_ports::engine::Torrent;

use crate::entry::{TorrentEntry, render_page};
use crate::query::{Filter, ListQuery, Order};

const MAX_CACHED_BYTES: usize = 8 * 1024 * 1024;
const MAX_CACHED_PAGES: usize = 2000;

/// Torrents judged between two looks at the clock.
const LOOK_AT_CLOCK: usize = 64;

/// The time limit on a page ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooSlow {
    /// Torrents judged until then.
    pub judged: usize,
}

/// A rendered page and a tag that no other page of any version has.
#[derive(Clone, Debug)]
pub struct RenderedPage {
    pub body: Bytes,
    pub etag: Arc<str>,
}

/// The list behind the pages, and what was computed of it so far.
pub struct Pages {
    entries: Arc<Vec<Arc<TorrentEntry>>>,
    orders: Mutex<HashMap<Order, Arc<[u32]>>>,
    rendered: RwLock<Rendered>,
}

#[derive(Default)]
struct Rendered {
    /// The engines that were offline when the pages were rendered.
    down: Vec<Arc<str>>,
    pages: HashMap<ListQuery, RenderedPage>,
    bytes: usize,
}

impl Pages {
    pub fn new(entries: Arc<Vec<Arc<TorrentEntry>>>) -> Self {
        Self {
            entries,
            orders: Mutex::default(),
            rendered: RwLock::default(),
        }
    }

    /// The page a query asks for; the torrents of engines that are `down` are marked as stale.
    ///
    /// Fails when finding out what matches takes longer than `patience`.
    pub fn page(
        &self,
        query: &ListQuery,
        down: &[Arc<str>],
        patience: Duration,
    ) -> Result<RenderedPage, TooSlow> {
        {
            let rendered = self.rendered.read().ignore_poison();
            if let Some(page) = rendered.pages.get(query).filter(|_| rendered.down == down) {
                return Ok(page.clone());
            }
        }
        let page = self.render(query, down, patience)?;
        let mut rendered = self.rendered.write().ignore_poison();
        if rendered.down != down {
            *rendered = Rendered {
                down: down.to_vec(),
                ..Rendered::default()
            };
        }
        let fits =
            rendered.bytes + page.body.len() <= MAX_CACHED_BYTES && rendered.pages.len() < MAX_CACHED_PAGES;
        if fits && rendered.pages.insert(query.clone(), page.clone()).is_none() {
            rendered.bytes += page.body.len();
        }
        Ok(page)
    }

    fn render(
        &self,
        query: &ListQuery,
        down: &[Arc<str>],
        patience: Duration,
    ) -> Result<RenderedPage, TooSlow> {
        let order = self.order(query.order);
        let entry = |position: &u32| &*self.entries[*position as usize];
        let (items, total): (Vec<&TorrentEntry>, usize) = if query.filter.is_empty() {
            let window = query.window();
            let end = window.end.min(order.len());
            (
                order[window.start.min(end)..end].iter().map(entry).collect(),
                order.len(),
            )
        } else {
            let matching = choose(order.iter().map(entry), &query.filter, patience)?;
            let window = query.window();
            let end = window.end.min(matching.len());
            (matching[window.start.min(end)..end].to_vec(), matching.len())
        };
        let body = render_page(&items, total, (query.page, query.page_size), down);
        let etag = etag_of(&body).into();
        Ok(RenderedPage { body, etag })
    }

    fn order(&self, order: Order) -> Arc<[u32]> {
        let mut orders = self.orders.lock().ignore_poison();
        orders
            .entry(order)
            .or_insert_with(|| {
                let torrents: Vec<&Torrent> = self.entries.iter().map(|entry| &entry.torrent).collect();
                order.sort(&torrents).into()
            })
            .clone()
    }
}

/// The torrents that match. Conditions may hold patterns that take their time with each of many torrents.
fn choose<'a>(
    entries: impl Iterator<Item = &'a TorrentEntry>,
    filter: &Filter,
    patience: Duration,
) -> Result<Vec<&'a TorrentEntry>, TooSlow> {
    let begun = Instant::now();
    let mut matching = Vec::new();
    for (position, entry) in entries.enumerate() {
        if position.is_multiple_of(LOOK_AT_CLOCK) && begun.elapsed() > patience {
            return Err(TooSlow { judged: position });
        }
        if filter.matches(&entry.engine_id, &entry.torrent) {
            matching.push(entry);
        }
    }
    Ok(matching)
}

/// A weak validator of a body. Its hash is keyed anew for every process: tags are compared, never kept.
pub fn etag_of(body: &[u8]) -> String {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    format!("W/\"{:x}-{:016x}\"", body.len(), KEYS.hash_one(body))
}

impl AsRef<Pages> for Pages {
    fn as_ref(&self) -> &Pages {
        self
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages")
            .field("entries", &self.entries.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use qm_kernel::PageQuery;
    use qm_test_base::blank::torrent;
    use serde_json::Value;

    use super::*;

    fn pages(count: u8) -> Pages {
        let engine = "e".into();
        Pages::new(Arc::new(
            (0..count)
                .map(|n| Arc::new(TorrentEntry::new(&engine, torrent(n))))
                .collect(),
        ))
    }

    fn query(search: Option<&str>, page: u64, page_size: u64) -> ListQuery {
        let order = Order::parse(Some("hash"), Some("asc"));
        ListQuery::new(
            Filter::new(None, None, None, search),
            order,
            PageQuery { page, page_size },
        )
    }

    fn numbers(page: &RenderedPage) -> (Vec<String>, u64) {
        let page: Value = serde_json::from_slice(&page.body).expect("JSON");
        let names = page["items"]
            .as_array()
            .expect("items")
            .iter()
            .map(|item| item["name"].to_string())
            .collect();
        (names, page["total"].as_u64().expect("total"))
    }

    #[test]
    fn pages_cut_what_matches() {
        let pages = pages(12);
        for (search, page, size, names, total) in [
            (None, 1, 2, vec!["\"torrent 0\"", "\"torrent 1\""], 12),
            (None, 6, 2, vec!["\"torrent 10\"", "\"torrent 11\""], 12),
            (None, 7, 2, vec![], 12),
            (None, i32::MAX as u64, 500, vec![], 12),
            (
                Some("torrent 1"),
                1,
                2,
                vec!["\"torrent 1\"", "\"torrent 10\""],
                3,
            ),
            (Some("torrent 1"), 2, 2, vec!["\"torrent 11\""], 3),
            (Some("none"), 1, 50, vec![], 0),
        ] {
            let names = names.into_iter().map(String::from).collect();
            assert_eq!(
                numbers(
                    &pages
                        .page(&query(search, page, size), &[], Duration::MAX)
                        .expect("a page")
                ),
                (names, total),
                "{search:?} {page}"
            );
        }
    }

    #[test]
    fn an_equal_query_gets_the_same_bytes() {
        let pages = pages(3);
        let page = |number, down: &[Arc<str>]| {
            pages
                .page(&query(None, number, 2), down, Duration::MAX)
                .expect("a page")
        };
        let (a, b) = (page(1, &[]), page(1, &[]));
        assert_eq!(a.body.as_ptr(), b.body.as_ptr());
        assert_ne!(a.etag, page(2, &[]).etag);
        let down: [Arc<str>; 1] = ["e".into()];
        let (stale, again) = (page(1, &down), page(1, &down));
        assert_ne!(a.etag, stale.etag);
        assert_eq!(stale.body.as_ptr(), again.body.as_ptr());
        assert_eq!(a.etag, page(1, &[]).etag, "back as it was");
    }

    #[test]
    fn nobody_waits_for_ever() {
        let slow = pages(200).page(&query(Some("torrent"), 1, 50), &[], Duration::ZERO);
        assert!(slow.is_err_and(|slow| slow.judged < 200));
    }
}
