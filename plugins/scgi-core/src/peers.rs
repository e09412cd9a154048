//! Bans of peers.

use std::net::{IpAddr, SocketAddr};

use crate::client::{Call, Client};
use crate::commands::Outcome;
use crate::error::Error;
use crate::wire::{Clock, Transport};
use crate::xml::{Param, Value};

impl<T: Transport, C: Clock> Client<T, C> {
    /// Bans those that are connected, and cuts them off. rTorrent keeps that with the torrent, until it ends.
    pub(crate) fn ban(&self, target: &str, peers: &[SocketAddr]) -> Outcome {
        let columns = ["p.id=", "p.address=", "p.port="];
        let mut params = vec![Param::from(target), Param::Text("")];
        params.extend(columns.iter().map(|column| Param::Text(column)));
        let list = self.call("p.multicall", &params)??;
        let mut banned = Vec::new();
        for row in list.array().iter().map(Value::array) {
            let [id, address, port] = row else { continue };
            let (Ok(address), Ok(port)) = (address.text().parse::<IpAddr>(), u16::try_from(port.int()))
            else {
                continue;
            };
            if peers.contains(&SocketAddr::new(address.to_canonical(), port)) {
                banned.push(format!("{target}:p{}", id.text()));
            }
        }
        let mut calls: Vec<Call<'_>> = Vec::new();
        for peer in &banned {
            calls.push(("p.banned.set", vec![peer.into(), Param::Int(1)]));
            calls.push(("p.disconnect", vec![peer.into()]));
        }
        let answers = self.multicall(&calls)?;
        // One that left meanwhile is banned, or will not be cut off twice.
        for set in answers.into_iter().step_by(2) {
            if let Err(error @ Error::Unsupported(_)) = set.map_err(Error::from) {
                return Err(error);
            }
        }
        Ok(())
    }
}
