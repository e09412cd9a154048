//! Between the words of the contract and those of the core.

use provider_model as core;
use sdk_provider as wit;
use wit::ProviderError;

pub fn kind(kind: wit::Kind) -> core::Kind {
    match kind {
        wit::Kind::Movie => core::Kind::Movie,
        wit::Kind::Show => core::Kind::Show,
    }
}

fn kind_of(kind: core::Kind) -> wit::Kind {
    match kind {
        core::Kind::Movie => wit::Kind::Movie,
        core::Kind::Show => wit::Kind::Show,
    }
}

fn picture(picture: core::Picture) -> wit::Picture {
    wit::Picture {
        url: picture.url,
        preview: picture.preview,
    }
}

pub fn hit(hit: core::Hit) -> wit::Hit {
    wit::Hit {
        id: hit.id,
        kind: kind_of(hit.kind),
        title: hit.title,
        original_title: hit.original_title,
        released: hit.released,
        overview: hit.overview,
        original_language: hit.original_language,
        poster: hit.poster.map(picture),
        backdrop: hit.backdrop.map(picture),
        rating: hit.rating,
        votes: hit.votes,
        popularity: hit.popularity,
        extra: Vec::new(),
    }
}

pub fn found(page: core::Page) -> wit::Found {
    wit::Found {
        hits: page.hits.into_iter().map(hit).collect(),
        page: page.page,
        pages: page.pages,
        total: page.total,
        extra: Vec::new(),
    }
}

fn credits(credits: Vec<core::Credit>) -> Vec<wit::Credit> {
    let credit = |credit: core::Credit| wit::Credit {
        id: credit.id,
        name: credit.name,
        role: credit.role,
        picture: credit.picture.map(picture),
    };
    credits.into_iter().map(credit).collect()
}

pub fn episode(episode: core::Episode) -> wit::Episode {
    wit::Episode {
        id: episode.id,
        season: episode.season,
        number: episode.number,
        title: episode.title,
        overview: episode.overview,
        aired: episode.aired,
        runtime: episode.runtime,
        rating: episode.rating,
        votes: episode.votes,
        still: episode.still.map(picture),
        guests: credits(episode.guests),
        crew: credits(episode.crew),
        extra: Vec::new(),
    }
}

fn season(season: core::Season) -> wit::Season {
    wit::Season {
        number: season.number,
        title: season.title,
        overview: season.overview,
        aired: season.aired,
        episodes: season.episodes,
        poster: season.poster.map(picture),
    }
}

fn standing(standing: core::Standing) -> wit::Standing {
    match standing {
        core::Standing::Unknown => wit::Standing::Unknown,
        core::Standing::Planned => wit::Standing::Planned,
        core::Standing::Returning => wit::Standing::Returning,
        core::Standing::Continuing => wit::Standing::Continuing,
        core::Standing::Ended => wit::Standing::Ended,
        core::Standing::Canceled => wit::Standing::Canceled,
        core::Standing::Released => wit::Standing::Released,
    }
}

pub fn title(title: core::Title) -> wit::TitleDetails {
    let hit = title.hit;
    let id = |(source, id): (&str, String)| wit::ExternalId {
        source: source.to_owned(),
        id,
    };
    wit::TitleDetails {
        id: hit.id,
        kind: kind_of(hit.kind),
        title: hit.title,
        original_title: hit.original_title,
        overview: hit.overview,
        tagline: title.tagline,
        released: hit.released,
        last_aired: title.last_aired,
        status: title.status,
        standing: standing(title.standing),
        original_language: hit.original_language,
        countries: title.countries,
        genres: title.genres,
        tags: title.tags,
        runtime: title.runtime,
        rating: hit.rating,
        votes: hit.votes,
        popularity: hit.popularity,
        certification: title.certification,
        studios: title.studios,
        networks: title.networks,
        cast: credits(title.cast),
        crew: credits(title.crew),
        creators: title.creators,
        seasons: title.seasons.into_iter().map(season).collect(),
        season_count: title.season_count,
        episode_count: title.episode_count,
        last_episode: title.last_episode.map(episode),
        next_episode: title.next_episode.map(episode),
        poster: hit.poster.map(picture),
        backdrop: hit.backdrop.map(picture),
        page: Some(title.page),
        ids: title.ids.into_iter().map(id).collect(),
        extra: Vec::new(),
    }
}

pub fn image(image: core::Image) -> wit::Image {
    wit::Image {
        kind: match image.kind {
            core::ImageKind::Poster => wit::ImageKind::Poster,
            core::ImageKind::Backdrop => wit::ImageKind::Backdrop,
            core::ImageKind::Logo => wit::ImageKind::Logo,
            core::ImageKind::Banner => wit::ImageKind::Banner,
        },
        picture: picture(image.picture),
        width: image.width,
        height: image.height,
        language: image.language,
        rating: image.rating,
        votes: image.votes,
        extra: Vec::new(),
    }
}

pub fn fault(fault: core::Fault) -> ProviderError {
    match fault {
        core::Fault::Auth(text) => ProviderError::Auth(text),
        core::Fault::Throttled { seconds, message } => {
            ProviderError::Throttled(wit::Throttle { seconds, message })
        }
        core::Fault::NotFound(text) => ProviderError::NotFound(text),
        core::Fault::Unparsable(text) => ProviderError::Unparsable(text),
        core::Fault::TooLarge(text) => ProviderError::TooLarge(text),
        core::Fault::Api { code, description } => ProviderError::Api(wit::ApiError { code, description }),
        core::Fault::Status { status, message } => {
            ProviderError::Status(wit::StatusError { status, message })
        }
        core::Fault::Redirected(text) => ProviderError::Redirected(text),
        core::Fault::InvalidConfig(text) => ProviderError::InvalidConfig(text),
        core::Fault::Unsupported(text) => ProviderError::Unsupported(text),
    }
}
