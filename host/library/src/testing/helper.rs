//! Areas beside the library, as one that notes what it is asked for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use qm_kernel::Requester;
use qm_ports::helpers::{
    HelpError, InOrder, MediaCompanions, MediaNaming, MediaNoteWriter, NamedItems, NamingOrder,
};

use super::House;

/// Helper that does nothing, and says that it did.
#[derive(Default)]
pub struct Helper {
    /// Orders in their sequence, each with the id of the person for whom it was given.
    pub asked: Mutex<Vec<(String, String)>>,
    /// Answers of the next orders to name files, in place of success.
    pub refuses: Mutex<VecDeque<HelpError>>,
    /// Ids of items whose files keep their names.
    pub keeps: Mutex<Vec<String>>,
    /// Types of pictures, and languages of subtitles, that every item lacks.
    pub missing: Mutex<(Vec<String>, Vec<String>)>,
}

impl Helper {
    fn note(&self, who: Option<&Requester>, what: String) {
        let who = who.map_or_else(String::new, |who| who.principal.user_id.to_string());
        self.asked.lock().expect("whole").push((who, what));
    }

    /// Orders since the last look.
    ///
    /// # Panics
    /// When another test has panicked.
    pub fn take_asked(&self) -> Vec<(String, String)> {
        std::mem::take(&mut *self.asked.lock().expect("whole"))
    }
}

#[async_trait]
impl MediaNaming for Helper {
    async fn name_items(&self, who: &Requester, order: NamingOrder<'_>) -> Result<NamedItems, HelpError> {
        let told = format!(
            "name {} of {} moving {}",
            order.item_ids.len(),
            order.torrent_hash.unwrap_or("nobody"),
            order.is_moving
        );
        self.note(Some(who), told);
        if let Some(refused) = self.refuses.lock().expect("whole").pop_front() {
            return Err(refused);
        }
        let keeps = self.keeps.lock().expect("whole").clone();
        let (kept, settled): (Vec<String>, Vec<String>) =
            order.item_ids.iter().cloned().partition(|id| keeps.contains(id));
        Ok(NamedItems {
            renamed: settled.clone(),
            settled,
            failed: kept
                .into_iter()
                .map(|id| (id, "in playback".to_owned()))
                .collect(),
        })
    }

    async fn put_in_order(&self, who: &Requester, library_id: &str) -> Result<InOrder, HelpError> {
        self.note(Some(who), format!("order {library_id}"));
        match self.refuses.lock().expect("whole").pop_front() {
            Some(refused) => Err(refused),
            None => Ok(InOrder {
                named: 3,
                ..InOrder::default()
            }),
        }
    }
}

#[async_trait]
impl MediaCompanions for Helper {
    async fn complete_pictures(&self, who: &Requester, _: &str) -> Result<Vec<String>, HelpError> {
        self.note(Some(who), "pictures".to_owned());
        Ok(self.missing.lock().expect("whole").0.clone())
    }

    async fn look_for_subtitles(&self, _: &str) -> Result<Vec<String>, HelpError> {
        self.note(None, "subtitles".to_owned());
        Ok(self.missing.lock().expect("whole").1.clone())
    }
}

#[async_trait]
impl MediaNoteWriter for Helper {
    async fn write_note_of(&self, who: &Requester, _: &str) -> Result<bool, HelpError> {
        self.note(Some(who), "note".to_owned());
        Ok(true)
    }
}

impl House {
    /// Adds a helper for everything. It is there as long as the test keeps it.
    pub fn helped(&self) -> Arc<Helper> {
        let helper = Arc::new(Helper::default());
        self.helpers.add_naming(&helper);
        self.helpers.add_companions(&helper);
        self.helpers.add_notes(&helper);
        helper
    }
}
