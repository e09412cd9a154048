//! `/api/indexers` and `/api/integrations/indexer_proxy`: parse, call the service, shape.

mod faults;
mod proxy;
#[cfg(test)]
mod proxy_tests;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::State;
use qm_kernel::Permission as P;
use qm_ports::indexer::Candidate;
use qm_web::{ApiResult, Auth, Body, By, Created, Json, Params, Path, Routes, routes};

use crate::dto::answers::{
    CandidateView, DeletedView, ImplementationView, IndexerView, SearchView, TestView,
};
use crate::dto::requests::{ChangedIndexer, NewIndexer, NewSearch, SearchQuery};
use crate::model::change::Shown;
use crate::service::Indexers;

type App = State<Arc<Indexers>>;

/// Tests and searches per client address and minute: each is a request to a foreign server.
const ASKED: u32 = 60;

/// Imports per client address and minute.
const IMPORTS: u32 = 10;

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Indexers>> {
    Routes::new()
        .add(routes!(list_indexers).need(P::IndexersView))
        .add(routes!(create_indexer).need(P::IndexersManage))
        .add(routes!(list_implementations).need(P::IndexersView))
        .add(routes!(search_indexers).need(P::IndexersTest).limit(ASKED))
        .add(routes!(get_indexer).need(P::IndexersView))
        .add(routes!(update_indexer).need(P::IndexersManage))
        .add(routes!(delete_indexer).need(P::IndexersManage))
        .add(routes!(test_indexer).need(P::IndexersTest).limit(ASKED))
        .add(routes!(search_indexer).need(P::IndexersTest).limit(ASKED))
        .add(routes!(proxy::show_indexer_proxy).need(P::IntegrationsIndexerProxyView))
        .add(routes!(proxy::change_indexer_proxy).need(P::IntegrationsIndexerProxyManage))
        .add(
            routes!(proxy::test_indexer_proxy)
                .need(P::IntegrationsIndexerProxyTest)
                .limit(ASKED),
        )
        .add(
            routes!(proxy::get_indexer_proxy_status)
                .need(P::IntegrationsIndexerProxyView)
                .limit(ASKED),
        )
        .add(routes!(proxy::open_indexer_proxy).need(P::IntegrationsIndexerProxyOpen))
        .add(
            routes!(proxy::import_indexers)
                .need(P::IntegrationsIndexerProxyManage)
                .limit(IMPORTS),
        )
}

fn view(app: &Indexers, shown: Shown) -> IndexerView {
    IndexerView::new(shown, app.now())
}

/// Every indexer, in the order in which they are asked.
#[utoipa::path(get, path = "/api/indexers", tag = "indexers", responses((status = 200, body = Vec<IndexerView>)))]
async fn list_indexers(State(app): App, Auth(principal): Auth) -> ApiResult<Json<Vec<IndexerView>>> {
    let all = app.list().await?.into_iter();
    let shown = all.map(|shown| view(&app, shown).seen_by(&principal));
    Ok(Json(shown.collect()))
}

/// Makes an indexer. It is not asked anything yet.
#[utoipa::path(
    post, path = "/api/indexers", tag = "indexers", request_body = Body<NewIndexer>,
    responses((status = 201, body = IndexerView), faults::Create)
)]
async fn create_indexer(
    State(app): App,
    By(requester): By,
    Body(new): Body<NewIndexer>,
) -> ApiResult<Created<IndexerView>> {
    let made = app.create(requester.caller(), new.into()).await?;
    Ok(Created(view(&app, made)))
}

/// The protocols that installed plugins speak, with what each is configured with.
#[utoipa::path(
    get, path = "/api/indexers/implementations", tag = "indexers",
    responses((status = 200, body = Vec<ImplementationView>))
)]
async fn list_implementations(State(app): App) -> Json<Vec<ImplementationView>> {
    let all = app.implementations().into_iter();
    Json(all.map(ImplementationView::from).collect())
}

/// Asks all indexers, or some, one question. Those that do not answer are told with the reason. A link that would hold an indexer's
/// key is sealed: `POST /api/torrents` takes it from whom it was made for, for a day.
#[utoipa::path(
    post, path = "/api/indexers/search", tag = "indexers", request_body = Body<NewSearch>,
    responses((status = 201, body = SearchView), faults::SearchAll)
)]
async fn search_indexers(
    State(app): App,
    Auth(principal): Auth,
    Body(search): Body<NewSearch>,
) -> ApiResult<Created<SearchView>> {
    let found = app.search_all(&search.into()).await?;
    Ok(Created(app.found_for(&principal, found).await?.into()))
}

/// One indexer.
#[utoipa::path(
    get, path = "/api/indexers/{id}", tag = "indexers", params(("id" = String, Path)),
    responses((status = 200, body = IndexerView), faults::Of)
)]
async fn get_indexer(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
) -> ApiResult<Json<IndexerView>> {
    Ok(Json(view(&app, app.find(&id).await?).seen_by(&principal)))
}

/// Changes an indexer. With another URL, key or protocol, what was learnt of the earlier one is forgotten; with another scheme,
/// host or port its secrets are dropped unless they are sent anew.
#[utoipa::path(
    patch, path = "/api/indexers/{id}", tag = "indexers", params(("id" = String, Path)),
    request_body = Body<ChangedIndexer>, responses((status = 200, body = IndexerView), faults::Change)
)]
async fn update_indexer(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(change): Body<ChangedIndexer>,
) -> ApiResult<Json<IndexerView>> {
    Ok(Json(view(
        &app,
        app.update(requester.caller(), &id, change.into()).await?,
    )))
}

/// Deletes an indexer.
#[utoipa::path(
    delete, path = "/api/indexers/{id}", tag = "indexers", params(("id" = String, Path)),
    responses((status = 200, body = DeletedView), faults::Delete)
)]
async fn delete_indexer(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Json<DeletedView>> {
    app.delete(requester.caller(), &id).await?;
    Ok(Json(DeletedView { id, deleted: true }))
}

/// Asks an indexer what it offers. A failure is no error of this operation: it stands in the answer, and with the indexer.
#[utoipa::path(
    post, path = "/api/indexers/{id}/test", tag = "indexers", params(("id" = String, Path)),
    responses((status = 201, body = TestView), faults::Test)
)]
async fn test_indexer(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<TestView>> {
    let (indexer, answer) = TestView::split(app.test(requester.caller(), &id).await?);
    let indexer = view(&app, app.shown(indexer)).seen_by(&requester.principal);
    Ok(Created(TestView::new(indexer, answer)))
}

/// Releases of one indexer for a search, unmerged; links that would contain its key are sealed.
#[utoipa::path(
    get, path = "/api/indexers/{id}/search", tag = "indexers",
    params(("id" = String, Path), Params::<SearchQuery>),
    responses((status = 200, body = Vec<CandidateView>), faults::Search)
)]
async fn search_indexer(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
    Params(SearchQuery(query)): Params<SearchQuery>,
) -> ApiResult<Json<Vec<CandidateView>>> {
    let (indexer, found) = app.search_one(&id, query).await?;
    let candidate = |release| Candidate {
        indexer_id: indexer.id.clone(),
        indexer_name: indexer.name.clone(),
        release,
    };
    let listed = found.releases.into_iter().map(candidate).collect();
    let listed = app.listed_for(&principal, &indexer, listed).into_iter();
    Ok(Json(listed.map(CandidateView::from).collect()))
}
