//! `/api/account/notifications/channels`: the caller's connections.

use axum::extract::State;
use qm_web::{ApiResult, Auth, Body, Created, Json, Path};

use super::{App, faults};
use crate::dto::channels::{
    BotToken, ChannelSettings, ChannelView, ChannelsView, ChatWebhook, CodeView, Confirmation, GoneView,
    Mailbox,
};
use crate::model::channel::{CHAT_APP_A, CHAT_APP_B, EMAIL};
use crate::service::LinkCode;

/// The caller's channels, and what can be connected.
#[utoipa::path(
    get, path = "/api/account/notifications/channels", tag = "notifications",
    responses((status = 200, body = ChannelsView), faults::Own)
)]
pub async fn list_channels(State(app): App, Auth(principal): Auth) -> ApiResult<Json<ChannelsView>> {
    Ok(Json(app.overview(&principal).await?.into()))
}

/// Stores the token of the caller's own bot. A chat that was linked before is linked no longer.
#[utoipa::path(
    post, path = "/api/account/notifications/channels/chat_app_a/bot", tag = "notifications",
    request_body = Body<BotToken>, responses((status = 201, body = ChannelView), faults::Known)
)]
pub async fn set_bot(
    State(app): App,
    Auth(principal): Auth,
    Body(bot): Body<BotToken>,
) -> ApiResult<Created<ChannelView>> {
    let seen = app.connect(&principal, CHAT_APP_A, bot.config()).await?;
    Ok(Created(seen.into()))
}

/// Gives a code to be sent to the bot, good for ten minutes; the one before is no longer good.
#[utoipa::path(
    post, path = "/api/account/notifications/channels/chat_app_a/link", tag = "notifications",
    responses((status = 201, body = CodeView), faults::Link)
)]
pub async fn link_bot(State(app): App, Auth(principal): Auth) -> ApiResult<Created<CodeView>> {
    Ok(Created(app.link(&principal, CHAT_APP_A).await?.into()))
}

/// Looks whether the code has arrived; the chat it came from is where notifications go.
#[utoipa::path(
    post, path = "/api/account/notifications/channels/chat_app_a/confirm", tag = "notifications",
    responses((status = 201, body = ChannelView), faults::Confirm)
)]
pub async fn confirm_bot(State(app): App, Auth(principal): Auth) -> ApiResult<Created<ChannelView>> {
    Ok(Created(app.confirm(&principal, CHAT_APP_A, None).await?.into()))
}

/// Stores an address and sends a code there; until it is entered (`POST …/email/confirm`) nothing else goes to it.
#[utoipa::path(
    post, path = "/api/account/notifications/channels/email", tag = "notifications",
    request_body = Body<Mailbox>, responses((status = 201, body = ChannelView), faults::Email)
)]
pub async fn connect_email(
    State(app): App,
    Auth(principal): Auth,
    Body(mailbox): Body<Mailbox>,
) -> ApiResult<Created<ChannelView>> {
    let seen = app.connect(&principal, EMAIL, mailbox.config()).await?;
    Ok(Created(seen.into()))
}

/// Forgets the caller's address.
#[utoipa::path(
    delete, path = "/api/account/notifications/channels/email", tag = "notifications",
    responses((status = 200, body = GoneView), faults::Disconnect)
)]
pub async fn disconnect_email(State(app): App, Auth(principal): Auth) -> ApiResult<Json<GoneView>> {
    app.disconnect(&principal, EMAIL).await?;
    Ok(Json(GoneView { ok: true }))
}

/// Stores an incoming webhook and sends a message there.
#[utoipa::path(
    post, path = "/api/account/notifications/channels/chat_app_b", tag = "notifications",
    request_body = Body<ChatWebhook>, responses((status = 201, body = ChannelView), faults::Known)
)]
pub async fn connect_chat(
    State(app): App,
    Auth(principal): Auth,
    Body(webhook): Body<ChatWebhook>,
) -> ApiResult<Created<ChannelView>> {
    let seen = app.connect(&principal, CHAT_APP_B, webhook.config()).await?;
    Ok(Created(seen.into()))
}

/// Forgets the caller's webhook.
#[utoipa::path(
    delete, path = "/api/account/notifications/channels/chat_app_b", tag = "notifications",
    responses((status = 200, body = GoneView), faults::Disconnect)
)]
pub async fn disconnect_chat(State(app): App, Auth(principal): Auth) -> ApiResult<Json<GoneView>> {
    app.disconnect(&principal, CHAT_APP_B).await?;
    Ok(Json(GoneView { ok: true }))
}

/// Stores what the caller enters for any channel that a plugin provides. Unless a code is to tell the destination, a message is
/// sent there; to an address that letters go to, a code that confirms it.
#[utoipa::path(
    post, path = "/api/account/notifications/channels/{type}", tag = "notifications",
    params(("type" = String, Path)), request_body = Body<ChannelSettings>,
    responses((status = 201, body = ChannelView), faults::Any)
)]
pub async fn connect(
    State(app): App,
    Auth(principal): Auth,
    Path(channel): Path<String>,
    Body(settings): Body<ChannelSettings>,
) -> ApiResult<Created<ChannelView>> {
    let seen = app.connect(&principal, &channel, settings.config).await?;
    Ok(Created(seen.into()))
}

/// Forgets what the caller entered for a channel. What waits to be sent by it is not sent.
#[utoipa::path(
    delete, path = "/api/account/notifications/channels/{type}", tag = "notifications",
    params(("type" = String, Path)), responses((status = 200, body = GoneView), faults::Disconnect)
)]
pub async fn disconnect(
    State(app): App,
    Auth(principal): Auth,
    Path(channel): Path<String>,
) -> ApiResult<Json<GoneView>> {
    app.disconnect(&principal, &channel).await?;
    Ok(Json(GoneView { ok: true }))
}

/// Gives a code to be sent to the product of any channel that is linked by one.
#[utoipa::path(
    post, path = "/api/account/notifications/channels/{type}/link", tag = "notifications",
    params(("type" = String, Path)), responses((status = 201, body = CodeView), faults::Link)
)]
pub async fn link(
    State(app): App,
    Auth(principal): Auth,
    Path(channel): Path<String>,
) -> ApiResult<Created<CodeView>> {
    Ok(Created(app.link(&principal, &channel).await?.into()))
}

/// Confirms a channel: looks whether the code that is sent to its product has arrived; of one that sends letters, such as
/// `email`, takes the code of the newest letter.
#[utoipa::path(
    post, path = "/api/account/notifications/channels/{type}/confirm", tag = "notifications",
    params(("type" = String, Path)), request_body = Body<Confirmation>,
    responses((status = 201, body = ChannelView), faults::Confirm)
)]
pub async fn confirm(
    State(app): App,
    Auth(principal): Auth,
    Path(channel): Path<String>,
    Body(given): Body<Confirmation>,
) -> ApiResult<Created<ChannelView>> {
    let seen = app.confirm(&principal, &channel, given.code.as_deref()).await?;
    Ok(Created(seen.into()))
}

/// Sends a message by a channel to see whether it arrives.
#[utoipa::path(
    post, path = "/api/account/notifications/channels/{type}/test", tag = "notifications",
    params(("type" = String, Path)), responses((status = 201, body = ChannelView), faults::Test)
)]
pub async fn test_channel(
    State(app): App,
    Auth(principal): Auth,
    Path(channel): Path<String>,
) -> ApiResult<Created<ChannelView>> {
    Ok(Created(app.test(&principal, &channel).await?.into()))
}

impl From<LinkCode> for CodeView {
    fn from(code: LinkCode) -> Self {
        Self {
            code: code.code.expose().to_owned(),
            expires_in_seconds: code.expires_in_seconds,
            bot_username: code.bot_username,
        }
    }
}
