//! Reports against the schema in the repository.

use unstall_doctor::Report;

/// Fails unless the report is what its schema says.
pub(crate) fn validate(report: &Report) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/report.schema.json");
    let schema = std::fs::read_to_string(path).expect("the schema");
    let schema = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let json = serde_json::from_str(&report.to_json()).expect("JSON");
    let errors: Vec<_> =
        validator.iter_errors(&json).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}
