//! Tags of a torrent: its client's, or kept here for a client that has none.
//!
//! Bounds: 100 tags of a torrent are kept here.

use qm_engines::model::intake::Intake;
use qm_engines::model::paths::check_label;
use qm_engines::repo::intake;
use qm_engines::{Engine, TorrentsError};
use qm_ports::engine::{Command, EngineError, capability};

use super::Torrents;

/// Tags of one torrent, as many as it can be added with.
const MOST: usize = 100;
/// Characters of a tag.
const LONGEST: usize = 200;

impl Torrents {
    /// Takes the tags `remove` away from a torrent and gives it those of `add`. Blank ones are none.
    pub(super) async fn retag(
        &self,
        engine: &Engine,
        hash: &str,
        add: &[String],
        remove: &[String],
    ) -> Result<(), TorrentsError> {
        let (add, remove) = (named(engine, add)?, named(engine, remove)?);
        if !engine.driver.has(capability::TAGS) {
            return self.keep_tags(engine, hash, &add, &remove).await;
        }
        // No matter whether its data is under way: the client keeps them beside it.
        let commands = [
            (!remove.is_empty()).then_some(Command::RemoveTags { tags: remove }),
            (!add.is_empty()).then_some(Command::AddTags { tags: add }),
        ];
        for command in commands.into_iter().flatten() {
            engine
                .order_one(hash, command, None)
                .await
                .map_err(TorrentsError::blame_engine(&engine.name()))?;
        }
        Ok(())
    }

    async fn keep_tags(
        &self,
        engine: &Engine,
        hash: &str,
        add: &[String],
        remove: &[String],
    ) -> Result<(), TorrentsError> {
        self.find(Some(&engine.id), hash).await?;
        // Two at the same time would each write what it knew before.
        let _turn = self.adding.take(vec![format!("{} {hash}", engine.id)]).await;
        let before = engine.intakes.get(hash);
        let old = before
            .as_ref()
            .map(|intake| intake.tags.clone())
            .unwrap_or_default();
        let mut tags = old.clone();
        tags.retain(|tag| !remove.contains(tag));
        for tag in add {
            if !tags.contains(tag) {
                tags.push(tag.clone());
            }
        }
        if tags.len() > MOST {
            return Err(refusal(engine, format!("a torrent has {MOST} tags at most")));
        }
        if tags == old {
            return Ok(());
        }
        let intake = Intake {
            noted_at: self.ctx.now(),
            added_at: before.as_ref().and_then(|intake| intake.added_at),
            is_private: before.as_ref().and_then(|intake| intake.is_private),
            auto_managed: before.and_then(|intake| intake.auto_managed),
            tags,
        };
        let mut tx = self.db.begin_write().await?;
        intake::put(&mut tx, &engine.id, hash, &intake).await?;
        tx.commit().await?;
        engine.intakes.retag(hash, intake);
        Ok(())
    }
}

/// Tags as they are stored, each once.
fn named(engine: &Engine, tags: &[String]) -> Result<Vec<String>, TorrentsError> {
    let mut named: Vec<String> = Vec::with_capacity(tags.len());
    for tag in tags.iter().map(|tag| tag.trim()).filter(|tag| !tag.is_empty()) {
        check_label(tag, "tag")?;
        if tag.chars().count() > LONGEST {
            return Err(refusal(engine, format!("a tag has {LONGEST} characters at most")));
        }
        if !named.iter().any(|known| known == tag) {
            named.push(tag.to_owned());
        }
    }
    Ok(named)
}

fn refusal(engine: &Engine, why: String) -> TorrentsError {
    TorrentsError::blame_engine(&engine.name())(EngineError::Rejected(why))
}
