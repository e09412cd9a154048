//! Images of a title at one provider: their addresses and sizes. Their content is fetched by whoever keeps it.

use qm_ports::metadata::{Alone, ImageDetails, ImageKind, ImagesOf, Picture, TitleKind, TitleSubject};

use super::cache::{Answer, Question};
use super::lookup::silent;
use super::{Arrangement, MetadataArea, Usable};

impl MetadataArea {
    /// Images of a title at one provider, whatever the order of providers.
    pub(super) async fn images_at(
        &self,
        all: &Arrangement,
        provider: &str,
        title: (TitleKind, &str),
        part: ImagesOf,
    ) -> Alone<Vec<ImageDetails>> {
        let Some(usable) = all.usable.iter().find(|usable| usable.kind.id == provider) else {
            return Alone::Nobody;
        };
        match self.find_images(usable, title, part).await {
            Ok(Some(images)) => Alone::Told(images),
            Ok(None) => Alone::Unknown,
            Err(reason) => silent(provider, reason),
        }
    }

    async fn find_images(
        &self,
        usable: &Usable,
        (kind, id): (TitleKind, &str),
        part: ImagesOf,
    ) -> Result<Option<Vec<ImageDetails>>, String> {
        let subject = TitleSubject {
            kind,
            id: id.to_owned(),
            language: None,
            country: None,
        };
        let question = match part {
            ImagesOf::Title => Question::Artwork(subject),
            ImagesOf::Season(_) => Question::Details(subject),
            ImagesOf::Episode(season, _) => Question::Episodes {
                show: id.to_owned(),
                season,
            },
        };
        let answer = self.ask(usable, question).await?;
        let image = |kind, picture: Option<Picture>| {
            let image = picture.map(|picture| ImageDetails {
                kind,
                picture,
                width: None,
                height: None,
                language: None,
                rating: None,
                votes: None,
            });
            Some(image.into_iter().collect())
        };
        Ok(match (answer, part) {
            (Answer::Images(all), ImagesOf::Title) => Some(all.to_vec()),
            (Answer::Title(title), ImagesOf::Season(number)) => {
                let season = title.seasons.iter().find(|season| season.number == number);
                season.and_then(|season| image(ImageKind::Poster, season.poster.clone()))
            }
            (Answer::Episodes(all), ImagesOf::Episode(_, number)) => {
                let episode = all.iter().find(|episode| episode.number == number);
                episode.and_then(|episode| image(ImageKind::Still, episode.still.clone()))
            }
            _ => None,
        })
    }
}
