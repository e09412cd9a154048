//! Parsing of an action's id and parameters into a step: no bindings, so it is tested natively.

use serde_json::Value;

/// Step done to the torrent of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Move { destination: String },
    Pause,
    Stop,
    Delete { with_data: bool },
}

/// Reason why nothing is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such action here.
    Unknown(String),
    /// A parameter is missing or makes no sense; the text names it.
    Parameter(String),
}

/// An action of this plugin.
pub struct Listed {
    pub id: &'static str,
    pub label: &'static str,
    /// JSON Schema; none: it takes no parameters.
    pub params: Option<&'static str>,
}

pub const ALL: [Listed; 5] = [
    Listed {
        id: "move",
        label: "Move the data",
        params: Some(
            r#"{
  "type": "object",
  "required": ["destination"],
  "properties": {"destination": {"type": "string", "title": "Destination directory", "maxLength": 4096, "x-placeholders": true,
    "description": "May have {category}, {tag}, {trackerHost}, {year} (in which it was added), {name} and {hash}, each filled with one name."}},
  "additionalProperties": false
}"#,
        ),
    },
    Listed {
        id: "pause",
        label: "Pause",
        params: None,
    },
    Listed {
        id: "stop",
        label: "Stop",
        params: None,
    },
    Listed {
        id: "delete",
        label: "Remove, keep the data",
        params: None,
    },
    Listed {
        id: "delete_with_data",
        label: "Remove with its data",
        params: Some(
            r#"{
  "type": "object",
  "properties": {"keepShared": {"type": "boolean", "title": "Keep the data when another torrent uses it"}},
  "additionalProperties": false
}"#,
        ),
    },
];

/// Step of `action` with `params`, a JSON object.
pub fn step(action: &str, params: &str) -> Result<Step, Refusal> {
    match action {
        "move" => destination(params).map(|destination| Step::Move { destination }),
        "pause" => Ok(Step::Pause),
        "stop" => Ok(Step::Stop),
        "delete" => Ok(Step::Delete { with_data: false }),
        // `keepShared` is the host's to obey.
        "delete_with_data" => Ok(Step::Delete { with_data: true }),
        other => Err(Refusal::Unknown(other.to_owned())),
    }
}

fn destination(params: &str) -> Result<String, Refusal> {
    let params: Value = serde_json::from_str(params)
        .map_err(|error| Refusal::Parameter(format!("the parameters are no JSON: {error}")))?;
    match params.get("destination").and_then(Value::as_str) {
        Some(path) if !path.trim().is_empty() => Ok(path.to_owned()),
        _ => Err(Refusal::Parameter("destination is required".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_action_does_something_of_its_own() {
        let steps: Vec<_> = ALL
            .iter()
            .map(|listed| step(listed.id, r#"{"destination":"/downloads/done"}"#))
            .collect();
        let expected = [
            Step::Move {
                destination: "/downloads/done".to_owned(),
            },
            Step::Pause,
            Step::Stop,
            Step::Delete { with_data: false },
            Step::Delete { with_data: true },
        ];
        assert_eq!(steps, expected.map(Ok));
    }

    #[test]
    fn a_move_needs_a_destination() {
        for params in [
            "{}",
            r#"{"destination":""}"#,
            r#"{"destination":"  "}"#,
            r#"{"destination":7}"#,
            "[]",
        ] {
            let refusal = step("move", params);
            assert_eq!(
                refusal,
                Err(Refusal::Parameter("destination is required".to_owned())),
                "{params}"
            );
        }
        assert!(matches!(step("move", "{"), Err(Refusal::Parameter(why)) if why.contains("no JSON")));
        assert_eq!(step("rename", "{}"), Err(Refusal::Unknown("rename".to_owned())));
    }

    #[test]
    fn schemas_are_json() {
        for text in ALL.iter().filter_map(|listed| listed.params) {
            assert!(serde_json::from_str::<Value>(text).is_ok_and(|schema| schema["type"] == "object"));
        }
    }
}
