//! The JSON schema of the report, with each check's data.

use super::Report;
use crate::checks::{host, target};
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

/// The JSON schema (draft 2020-12) of [`Report`]. `cargo xtask docs` writes it to `schema/report.schema.json`.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut rules: Vec<Value> =
        host::CHECKS.iter().map(|row| rule(&mut generator, row.id, row.schema)).collect();
    rules.extend(target::CHECKS.iter().map(|row| rule(&mut generator, row.id, row.schema)));
    let mut root = generator.into_root_schema_for::<Report>();
    root.insert("title".to_owned(), json!("unstall doctor's report"));
    let mut root = root.to_value();
    root["$defs"]["CheckResult"]["allOf"] = Value::Array(rules);
    root
}

/// A result with this id has this data, or null.
fn rule(generator: &mut SchemaGenerator, id: &str, schema: fn(&mut SchemaGenerator) -> Schema) -> Value {
    let data = schema(generator).to_value();
    json!({
        "if": { "properties": { "id": { "const": id } } },
        "then": { "properties": { "data": { "anyOf": [data, { "type": "null" }] } } },
    })
}
