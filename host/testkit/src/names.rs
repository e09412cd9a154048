//! Names of hosts whose addresses the test writes, and which may change from one question to the next.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use qm_lanes::IgnorePoison;
use qm_net::Resolver;

/// Gives the answers of a name in turn, the last one for ever; a name that is not listed is unknown.
pub struct Names {
    answers: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
    asked: Mutex<HashMap<String, usize>>,
}

impl Names {
    /// `rows`: a name with its answers, each a list of addresses.
    pub fn new(rows: &[(&str, &[&[&str]])]) -> Arc<Names> {
        let address = |text: &&str| text.parse().expect("an address");
        let answers = rows.iter().map(|(name, answers)| {
            let answers = answers.iter().map(|ips| ips.iter().map(address).collect());
            ((*name).to_owned(), answers.collect())
        });
        Arc::new(Names {
            answers: Mutex::new(answers.collect()),
            asked: Mutex::default(),
        })
    }

    /// The number of times the addresses of a name were asked for.
    pub fn asked(&self, name: &str) -> usize {
        let asked = self.asked.lock().ignore_poison();
        asked.get(name).copied().unwrap_or_default()
    }
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut asked = self.asked.lock().ignore_poison();
        *asked.entry(name.to_owned()).or_default() += 1;
        let mut answers = self.answers.lock().ignore_poison();
        let unknown = || io::Error::new(io::ErrorKind::NotFound, "no such name");
        let turns = answers.get_mut(name).ok_or_else(unknown)?;
        let next = if turns.len() > 1 {
            turns.pop_front()
        } else {
            turns.front().cloned()
        };
        next.ok_or_else(unknown)
    }
}
