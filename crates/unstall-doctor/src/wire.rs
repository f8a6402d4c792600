//! JSON schemas of unstall-core's types, which serialize themselves and know no schemas.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use unstall_core::outcome::{Operation, Outcome};

/// [`Outcome`].
pub(crate) fn outcome(_: &mut SchemaGenerator) -> Schema {
    let ids = Outcome::ALL.map(Outcome::id);
    json_schema!({ "type": "string", "enum": ids })
}

/// `Option<OsError>`.
pub(crate) fn os_error(_: &mut SchemaGenerator) -> Schema {
    let operations: Vec<Value> =
        Operation::ALL.iter().filter_map(|operation| serde_json::to_value(operation).ok()).collect();
    json_schema!({
        "description": "The OS's error code and the call that gave it; null: there was none.",
        "type": ["object", "null"],
        "properties": {
            "operation": { "type": "string", "enum": operations },
            "code": { "type": "integer" },
        },
        "required": ["operation", "code"],
    })
}
