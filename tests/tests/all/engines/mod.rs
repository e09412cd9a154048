//! Engines, and the plugins that drive them: clients that die or misbehave, plugins that do, and what nobody looks at.

mod actions;
mod floods;
mod foreign;
mod isolation;
mod labels;
mod quiet;
mod resilience;
mod transmission;
