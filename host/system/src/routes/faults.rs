//! Errors that each operation may answer, for the OpenAPI document. Answers common to every guarded operation
//! are added elsewhere.

use qm_platform::PlatformError;
use qm_platform::config_schema::BadSchema;
use qm_plugin_host::PluginHostError;
use qm_ports::Settling;
use qm_web::faults;

use crate::error::SystemError;

faults! {
    ChangeSettings => [
        PlatformError::SettingHasRoute { key: "<key>", route: "<route>" },
        PlatformError::BadSettings(Vec::new()),
    ];
    Module => [SystemError::NoSuchModule("<id>".to_owned())];
    AcceptPlugin => [
        PluginHostError::NoSuchPlugin("…".to_owned()),
        PluginHostError::Settling(Settling::unknown()),
        PluginHostError::NotAcceptable { id: "<id>".to_owned(), file: "<file>".to_owned(), reason: "…".to_owned() },
    ].map(SystemError::Plugin);
    GrantPlugin => [
        PluginHostError::NoSuchPlugin("…".to_owned()),
        PluginHostError::Settling(Settling::unknown()),
        PluginHostError::NotGrantable { id: "<id>".to_owned(), reason: "…".to_owned() },
    ].map(SystemError::Plugin);
    PluginConfiguration => [
        PluginHostError::NoSuchPlugin("…".to_owned()),
        PluginHostError::Settling(Settling::unknown()),
        PluginHostError::NotConfigurable { id: "<id>".to_owned(), reason: "…".to_owned() },
    ].map(SystemError::Plugin);
    ConfigurePlugin => [
        SystemError::Plugin(PluginHostError::NoSuchPlugin("…".to_owned())),
        SystemError::Plugin(PluginHostError::Settling(Settling::unknown())),
        SystemError::Plugin(PluginHostError::NotConfigurable { id: "<id>".to_owned(), reason: "…".to_owned() }),
        SystemError::Configuration(Vec::new()),
        SystemError::Schema(BadSchema::unusable()),
    ];
    ReloadPlugin => [
        PluginHostError::NoSuchPlugin("…".to_owned()),
        PluginHostError::Settling(Settling::unknown()),
        PluginHostError::NotReloaded { id: "<id>".to_owned(), reason: "…".to_owned() },
    ].map(SystemError::Plugin);
}
