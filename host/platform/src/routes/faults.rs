//! With which errors of this area each operation may refuse, for the document. What every guarded operation may answer
//! is known without them.

use qm_plugin_host::PluginHostError;
use qm_web::faults;

use crate::error::PlatformError as E;

faults! {
    ChangeSettings => [
        E::SettingHasRoute { key: "<key>", route: "<route>" },
        E::BadSettings(Vec::new()),
    ];
    AcceptPlugin => [
        PluginHostError::NoSuchPlugin("…".to_owned()),
        PluginHostError::NotAcceptable { id: "<id>".to_owned(), file: "<file>".to_owned(), reason: "…".to_owned() },
    ].map(E::Plugin);
    GrantPlugin => [
        PluginHostError::NoSuchPlugin("…".to_owned()),
        PluginHostError::NotGrantable { id: "<id>".to_owned(), reason: "…".to_owned() },
    ].map(E::Plugin);
    ReloadPlugin => [
        PluginHostError::NoSuchPlugin("…".to_owned()),
        PluginHostError::NotReloaded { id: "<id>".to_owned(), reason: "…".to_owned() },
    ].map(E::Plugin);
}
