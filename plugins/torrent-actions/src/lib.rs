//! Actions on the torrent that a rule runs for: move, pause, stop, remove with or without its data.

mod step;

use sdk_actions::{
    Action, Actions, Call, Description, Descriptor, Done, NO_PROPERTIES, Occasion, PluginError, done,
    torrents,
};

use crate::step::{ALL, Listed, Refusal, Step, step};

struct TorrentActions;

/// All of them leave a torrent as it is that is so already.
fn action(listed: &Listed) -> Action {
    Action {
        id: listed.id.to_owned(),
        label: listed.label.to_owned(),
        category: "torrent".to_owned(),
        occasions: vec![Occasion::Torrent],
        params_schema: listed.params.unwrap_or(NO_PROPERTIES).to_owned(),
        idempotent: true,
        extra: Vec::new(),
    }
}

impl Actions for TorrentActions {
    fn describe() -> Description {
        sdk_actions::install_panic_hook();
        Description {
            about: Descriptor {
                id: "torrent_actions".to_owned(),
                label: "Torrent actions".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                config_schema: NO_PROPERTIES.to_owned(),
                capabilities: vec!["torrents".to_owned()],
                hosts: Vec::new(),
                extra: Vec::new(),
            },
            actions: ALL.iter().map(action).collect(),
            extra: Vec::new(),
        }
    }

    fn run(action: String, _config: String, call: Call) -> Result<Done, PluginError> {
        sdk_actions::install_panic_hook();
        let step = step(&action, &call.params).map_err(|refusal| match refusal {
            Refusal::Unknown(action) => PluginError::Unsupported(format!("Unknown action type: {action}")),
            Refusal::Parameter(why) => PluginError::InvalidConfig(why),
        })?;
        match step {
            Step::Move { destination } => torrents::relocate(&destination),
            Step::Pause => torrents::pause(),
            Step::Stop => torrents::stop(),
            Step::Delete { with_data } => torrents::remove(with_data),
        }?;
        Ok(done())
    }
}

sdk_actions::export_actions!(TorrentActions);
