//! Notes of others, read where something changed.

use std::collections::BTreeMap;

use qm_db::db_test;
use qm_media_names::place;
use qm_ports::beside::MediaNotesWritten;
use qm_ports::notes::NoteTaker;
use qm_ports::subjects::{
    ChangeReader, MediaSubjects, SubjectChange, SubjectItem, SubjectShow, SubjectsUnread,
};

use super::*;

/// Items and shows beside which something changed, and the facts that were taken of notes.
#[derive(Default)]
pub struct Changed {
    pub items: Mutex<Vec<SubjectItem>>,
    pub shows: Mutex<Vec<SubjectShow>>,
    pub changes: Mutex<Vec<SubjectChange>>,
    /// By the ids of items and shows.
    pub taken: Mutex<BTreeMap<String, NotedFacts>>,
}

#[async_trait]
impl MediaSubjects for Changed {
    async fn find_item(&self, id: &str) -> Result<Option<SubjectItem>, SubjectsUnread> {
        Ok(self
            .items
            .lock()
            .unwrap()
            .iter()
            .find(|item| item.id == id)
            .cloned())
    }

    async fn find_show(&self, id: &str) -> Result<Option<SubjectShow>, SubjectsUnread> {
        Ok(self
            .shows
            .lock()
            .unwrap()
            .iter()
            .find(|show| show.id == id)
            .cloned())
    }

    async fn list_changes(
        &self,
        reader: ChangeReader,
        most: usize,
    ) -> Result<Vec<SubjectChange>, SubjectsUnread> {
        assert_eq!(reader, ChangeReader::Notes);
        Ok(self.changes.lock().unwrap().iter().take(most).cloned().collect())
    }

    async fn list_changed_items(
        &self,
        change: &SubjectChange,
        after: &str,
        most: usize,
    ) -> Result<Vec<SubjectItem>, SubjectsUnread> {
        let mut items = self.items.lock().unwrap().clone();
        let is_there = |at: &String| {
            place::parent(at).is_some_and(|above| above == change.place)
                || (change.below && place::is_within(at, &change.place))
        };
        items.retain(|item| &*item.id > after && item.places.iter().any(is_there));
        items.sort_by(|a, b| a.id.cmp(&b.id));
        items.truncate(most);
        Ok(items)
    }

    async fn list_changed_shows(&self, change: &SubjectChange) -> Result<Vec<SubjectShow>, SubjectsUnread> {
        let mut shows = self.shows.lock().unwrap().clone();
        shows.retain(|show| show.place == change.place || place::is_within(&change.place, &show.place));
        Ok(shows)
    }

    async fn forget_changes(&self, numbers: &[i64]) -> Result<(), SubjectsUnread> {
        let mut changes = self.changes.lock().unwrap();
        changes.retain(|change| !numbers.contains(&change.number));
        Ok(())
    }
}

#[async_trait]
impl NoteTaker for Changed {
    async fn take_item_note(&self, item: &str, facts: NotedFacts) -> Result<bool, NotesUnread> {
        let before = self.taken.lock().unwrap().insert(item.to_owned(), facts.clone());
        Ok(before != Some(facts))
    }

    async fn take_show_note(&self, show: &str, facts: NotedFacts) -> Result<bool, NotesUnread> {
        self.take_item_note(show, facts).await
    }
}

impl Site {
    /// An item of the library, with a file, beside which something changed.
    async fn add_changed(&self, id: &str, media_type: &str, place: &str) {
        self.add(id, place).await;
        let numbers = (media_type == "tv").then_some(1);
        self.changed.items.lock().unwrap().push(SubjectItem {
            id: id.to_owned(),
            library: self.root.to_str().unwrap().to_owned(),
            media_type: media_type.to_owned(),
            season: numbers,
            episode: numbers,
            places: vec![place.to_owned()],
            ..SubjectItem::default()
        });
    }

    fn changes(&self, place: &str, below: bool) {
        let mut changes = self.changed.changes.lock().unwrap();
        let number = changes.last().map_or(1, |last| last.number + 1);
        changes.push(SubjectChange {
            number,
            library_id: "l".to_owned(),
            directory_id: format!("d {place}"),
            place: place.to_owned(),
            below,
        });
    }

    fn title(&self, id: &str) -> Option<String> {
        let taken = self.changed.taken.lock().unwrap();
        taken.get(id).and_then(|facts| facts.title.clone())
    }
}

db_test! {
    async fn notes_of_others_are_taken_where_something_changed(db: Db) {
        let site = Site::new(&db).await;
        site.add_changed("film", "movie", "Tide/Tide.mkv").await;
        site.add_changed("episode", "tv", "Show/S1/Show S01E01.mkv").await;
        site.changed.shows.lock().unwrap().push(SubjectShow {
            id: "show".to_owned(),
            library: site.root.to_str().unwrap().to_owned(),
            place: "Show".to_owned(),
            provider_a_id: None,
        });
        let write = |place: &str, text: &str| fs::write(site.root.join(place), text).unwrap();
        write("Tide/movie.nfo", "<movie><title>The Tide</title><plot>Water.</plot></movie>");
        write("Show/tvshow.nfo", "<tvshow><title>The Show</title></tvshow>");
        write("Show/S1/Show S01E01.nfo", "<episodedetails><title>Pilot</title><season>1</season><episode>1</episode></episodedetails>");
        assert_eq!(site.app.take_changed_notes().await.unwrap(), 0, "nothing changed");
        site.changes("Tide", true);
        site.changes("Show/S1", true);
        assert_eq!(site.app.take_changed_notes().await.unwrap(), 3);
        let titles = ["film", "episode", "show"].map(|id| site.title(id));
        assert_eq!(titles, ["The Tide", "Pilot", "The Show"].map(|title| Some(title.to_owned())));
        assert!(site.changed.changes.lock().unwrap().is_empty());
        // One with the film's own name comes first; what gives nothing new counts as nothing.
        write("Tide/Tide.nfo", "<movie><title>Own</title></movie>");
        site.changes("Tide", false);
        assert_eq!(site.app.take_changed_notes().await.unwrap(), 1);
        site.changes("Tide", false);
        assert_eq!((site.app.take_changed_notes().await.unwrap(), site.title("film").as_deref()), (0, Some("Own")));
        // It is told which notes there are, and that nobody here wrote them.
        let known: &dyn MediaNotesWritten = &*site.app;
        let places: Vec<String> = known.list_notes("film").await.unwrap().into_iter().map(|note| note.place).collect();
        assert_eq!(places, ["Tide/Tide.nfo", "Tide/movie.nfo"]);
        let said = site.generate(409, json!({ "itemId": "film" })).await;
        assert_eq!(said["code"], "conflict.nfo_exists");
    }

    async fn a_note_that_was_written_here_tells_nothing(db: Db) {
        let site = Site::new(&db).await;
        site.add_changed("film", "movie", "Tide/Tide.mkv").await;
        let _ = site.generate(201, json!({ "itemId": "film" })).await;
        site.changes("Tide", false);
        assert_eq!(site.app.take_changed_notes().await.unwrap(), 0);
        assert_eq!(site.title("film"), None, "the library said that itself");
        // Somebody changed it.
        let text = site.read("Tide/Tide.nfo").replace("<title>Tide<", "<title>The Tide<");
        fs::write(site.root.join("Tide/Tide.nfo"), text).unwrap();
        site.changes("Tide", false);
        assert_eq!((site.app.take_changed_notes().await.unwrap(), site.title("film").as_deref()), (1, Some("The Tide")));
    }

    async fn a_note_of_a_folder_is_about_the_only_film_there(db: Db) {
        let site = Site::new(&db).await;
        for id in ["a", "b"] {
            site.add_changed(id, "movie", &format!("All/{id}.mkv")).await;
        }
        fs::write(site.root.join("All/movie.nfo"), "<movie><title>Of one</title></movie>").unwrap();
        fs::write(site.root.join("All/b.nfo"), "<movie><title>Own</title></movie>").unwrap();
        site.changes("All", true);
        assert_eq!(site.app.take_changed_notes().await.unwrap(), 1);
        assert_eq!((site.title("a"), site.title("b").as_deref()), (None, Some("Own")));
    }

    async fn a_change_of_a_directory_concerns_only_the_notes_in_it(db: Db) {
        let site = Site::new(&db).await;
        site.add_changed("film", "movie", "Films/Tide/Tide.mkv").await;
        fs::write(site.root.join("Films/Tide/Tide.nfo"), "<movie><title>Tide</title></movie>").unwrap();
        site.changes("Films", true);
        assert_eq!(site.app.take_changed_notes().await.unwrap(), 0, "a film that comes there has not all others read");
        site.changes("Films/Tide", true);
        assert_eq!(site.app.take_changed_notes().await.unwrap(), 1);
    }

    async fn notes_of_others_that_are_gone_are_forgotten(db: Db) {
        let site = Site::new(&db).await;
        site.add_changed("film", "movie", "Tide/Tide.mkv").await;
        site.add_changed("ours", "movie", "Ebb/Ebb.mkv").await;
        let _ = site.generate(201, json!({ "itemId": "ours" })).await;
        let path = site.root.join("Tide/Tide.nfo");
        fs::write(&path, "<movie><title>Tide</title></movie>").unwrap();
        let look = async || {
            for place in ["Tide", "Ebb"] {
                site.changes(place, false);
            }
            site.app.take_changed_notes().await.unwrap();
            repo::testing::count(&mut db.begin_read().await.unwrap()).await.unwrap()
        };
        assert_eq!(look().await, 2);
        // A directory that cannot be read tells nothing.
        fs::rename(site.root.join("Tide"), site.folder.path().join("Tide")).unwrap();
        assert_eq!(look().await, 2);
        fs::rename(site.folder.path().join("Tide"), site.root.join("Tide")).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(look().await, 1);
        // What was written here stays known: the file may come back with its disk.
        fs::remove_file(site.root.join("Ebb/Ebb.nfo")).unwrap();
        assert_eq!(look().await, 1);
    }

    async fn what_is_no_note_is_left_alone(db: Db) {
        let site = Site::new(&db).await;
        site.add_changed("film", "movie", "Tide/Tide.mkv").await;
        for text in ["", "words", "<tvshow><title>A</title></tvshow>", "<html/>"] {
            fs::write(site.root.join("Tide/Tide.nfo"), text).unwrap();
            site.changes("Tide", false);
            assert_eq!(site.app.take_changed_notes().await.unwrap(), 0, "{text}");
        }
        let large = format!("<movie><title>A</title><plot>{}</plot></movie>", "x".repeat(600 << 10));
        fs::write(site.root.join("Tide/Tide.nfo"), large).unwrap();
        site.changes("Tide", false);
        assert_eq!(site.app.take_changed_notes().await.unwrap(), 0, "it is too large");
        fs::remove_file(site.root.join("Tide/Tide.nfo")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", site.root.join("Tide/Tide.nfo")).unwrap();
        site.changes("Tide", false);
        assert_eq!(site.app.take_changed_notes().await.unwrap(), 0, "it is a link out of the library");
        assert!(site.changed.taken.lock().unwrap().is_empty());
        assert_eq!(repo::testing::count(&mut db.begin_read().await.unwrap()).await.unwrap(), 0);
    }
}
