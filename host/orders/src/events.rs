//! Domain events of this room.

use qm_kernel::event::EventSpec;

qm_kernel::events! {
    /// A media server did not look for a download that is whole.
    pub struct RefreshFailed: "media_server.refresh_failed" about "media_server" {
        server_name: String,
        /// A sentence.
        reason: String,
    }
}

pub const EVENTS: &[EventSpec] = &[EventSpec::of::<RefreshFailed>()];
