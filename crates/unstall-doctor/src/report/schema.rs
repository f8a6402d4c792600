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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{blind, report, sound};

    #[test]
    fn the_file_is_the_schema() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/report.schema.json");
        let file = std::fs::read_to_string(path).unwrap_or_default();
        let fresh = serde_json::to_string_pretty(&schema()).expect("JSON") + "\n";
        assert!(file == fresh, "schema/report.schema.json is out of date: run cargo xtask docs");
    }

    #[test]
    fn reports_fit_the_schema_and_what_is_wrong_does_not() {
        let validator = jsonschema::validator_for(&schema()).expect("a schema");
        let mut json =
            [report(), sound(), blind()].map(|report| serde_json::to_value(&report).expect("JSON"));
        // The data of these results is made up; what real checks measure is validated with real runs.
        for report in &mut json {
            report["results"]
                .as_array_mut()
                .into_iter()
                .flatten()
                .for_each(|result| result["data"] = Value::Null);
            assert_eq!(validator.validate(report).map_err(|error| error.to_string()), Ok(()));
        }
        let [report, ..] = json;
        for (pointer, wrong) in [
            ("/schema_version", json!("1")),
            ("/findings/0/severity", json!("fatal")),
            ("/findings/0/evidence/0/label", json!("guessed")),
            ("/results/0/status", json!(true)),
            ("/results/0/elapsed_ns", json!(1.5)),
            ("/results/3/data", json!({ "resolution_ns": "1 ns" })),
        ] {
            let mut spoilt = report.clone();
            *spoilt.pointer_mut(pointer).expect(pointer) = wrong;
            assert!(!validator.is_valid(&spoilt), "{pointer}");
        }
    }
}
