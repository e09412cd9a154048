//! Domain events of this crate.

use qm_kernel::event::EventSpec;

qm_kernel::events! {
    /// A media server did not accept the refresh for a complete download.
    pub struct RefreshFailed: "media_server.refresh_failed" about "media_server" {
        server_name: String,
        /// Reason, as a sentence.
        reason: String,
    }
}

pub const EVENTS: &[EventSpec] = &[EventSpec::for_event::<RefreshFailed>()];
