//! Between the words of the contract and those of the core.

use sdk_indexer as wit;
use torznab_core as core;
use wit::IndexerError;

pub fn query(query: wit::Query) -> core::Query {
    core::Query {
        term: query.term,
        season: query.season,
        episode: query.episode,
        categories: query.categories,
        tv_search: query.tv_search,
    }
}

pub fn caps(caps: core::Caps) -> wit::Capabilities {
    let category = |category: core::Category| wit::Category {
        id: category.id,
        name: category.name,
    };
    wit::Capabilities {
        server: caps.server.map(|server| wit::Server { title: server.title }),
        tv_search: caps.tv_search,
        movie_search: caps.movie_search,
        supported_params: caps.supported_params,
        categories: caps.categories.into_iter().map(category).collect(),
        limits: caps.limits.map(|limits| wit::Limits {
            default: limits.default,
            max: limits.max,
        }),
        warnings: caps.warnings,
        extra: Vec::new(),
    }
}

pub fn found(found: core::Found) -> wit::Found {
    wit::Found {
        releases: found.releases.into_iter().map(release).collect(),
        warnings: found.warnings,
        extra: Vec::new(),
    }
}

fn release(release: core::Release) -> wit::Release {
    wit::Release {
        title: release.title,
        download_url: release.download_url,
        info_hash: release.info_hash,
        size: release.size,
        seeders: release.seeders,
        peers: release.peers,
        grabs: release.grabs,
        categories: release.categories,
        published: release.published,
        guid: release.guid,
        page: release.page,
        extra: release.extra,
    }
}

pub fn fault(fault: core::Fault) -> IndexerError {
    match fault {
        core::Fault::Auth(text) => IndexerError::Auth(text),
        core::Fault::Throttled { seconds, message } => {
            IndexerError::Throttled(wit::Throttle { seconds, message })
        }
        core::Fault::LoginPage(text) => IndexerError::LoginPage(text),
        core::Fault::Captcha(text) => IndexerError::Captcha(text),
        core::Fault::Unparsable(text) => IndexerError::Unparsable(text),
        core::Fault::Api { code, description } => IndexerError::Api(wit::ApiError { code, description }),
        core::Fault::Status { status, message } => IndexerError::Status(wit::StatusError { status, message }),
    }
}
