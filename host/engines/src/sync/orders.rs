//! The one way to a client's commands. A command that takes data needs the proof that nobody else uses the data.

use qm_ports::engine::{Command, EngineError, Outcome};

use super::engine::Engine;
use crate::model::unshared::{Unshared, check_share_limits, takes_data};

impl Engine {
    /// Has the client carry out a command that takes no data.
    pub async fn order(&self, hashes: &[String], command: Command) -> Result<Vec<Outcome>, EngineError> {
        if takes_data(&*self.driver, &command) {
            return Err(EngineError::Unsupported(
                "The data may be another torrent's too: nothing was done".to_owned(),
            ));
        }
        self.run(hashes, command).await
    }

    /// Torrents of a command are told by the next polls as they are, also by a client that is mostly asked for what moves.
    async fn run(&self, hashes: &[String], command: Command) -> Result<Vec<Outcome>, EngineError> {
        if let Command::ShareLimits(limits) = &command {
            check_share_limits(limits)?;
        }
        let outcomes = self.driver.run(hashes, command).await;
        self.note_fresh(hashes);
        outcomes
    }

    /// Has the client carry out a command that takes the data of these torrents. Torrents that the proof does not cover
    /// are left out.
    pub async fn order_taking(
        &self,
        hashes: &[String],
        command: Command,
        proof: &Unshared,
    ) -> Result<Vec<Outcome>, EngineError> {
        let covered: Vec<String> = hashes.iter().filter(|hash| proof.covers(hash)).cloned().collect();
        self.run(&covered, command).await
    }

    /// Has the client do a command to one torrent: with a proof where it takes data.
    pub async fn order_one(
        &self,
        hash: &str,
        command: Command,
        proof: Option<&Unshared>,
    ) -> Result<(), EngineError> {
        let asked = [hash.to_owned()];
        let outcomes = match proof {
            Some(proof) => self.order_taking(&asked, command, proof).await?,
            None => self.order(&asked, command).await?,
        };
        let missing = || EngineError::Protocol("it did not tell what became of the torrent".into());
        let mine = outcomes.into_iter().find(|outcome| outcome.hash == hash);
        mine.map_or_else(|| Err(missing()), |outcome| outcome.result)
    }
}
