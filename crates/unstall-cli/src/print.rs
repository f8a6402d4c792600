//! Commands that print what a library generates.

use crate::args::{self, Document};
use crate::compare::CompareReport;
use crate::document::{CheckList, ClientsReport, ConnectReport, ErrorReport, WaitReport};
use crate::exit::Exit;
#[cfg(target_os = "linux")]
use crate::lab::{Everything, Report};
use crate::output;
use crate::run::RunReport;
use clap_complete::Shell;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use unstall_doctor::report::Record;
#[cfg(target_os = "linux")]
use unstall_lab::{backlog::Backlog, burst::Case, matrix::Matrix, reference::Reference};

/// The completions of a shell.
pub(crate) fn completions(shell: Shell) -> Exit {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "unstall", &mut text);
    output::result(&String::from_utf8_lossy(&text), Exit::Ok)
}

/// The JSON schema of a document.
pub(crate) fn schema(of: Document) -> Exit {
    let schema = match of {
        Document::Doctor => unstall_doctor::report::schema(),
        Document::Lines => schema_of::<Record>("a line of --json-lines"),
        Document::Compare => schema_of::<CompareReport>("unstall doctor --compare's report"),
        Document::Connect => schema_of::<ConnectReport>("unstall connect's report"),
        Document::Wait => schema_of::<WaitReport>("unstall wait's report"),
        Document::Clients => schema_of::<ClientsReport>("unstall clients' report"),
        Document::Run => schema_of::<RunReport>("unstall run's report"),
        Document::Checks => schema_of::<CheckList>("unstall doctor's list of checks"),
        #[cfg(target_os = "linux")]
        Document::LabList => schema_of::<Report<Everything>>("unstall lab list's report"),
        #[cfg(target_os = "linux")]
        Document::LabMatrix => schema_of::<Report<Matrix>>("unstall lab matrix's report"),
        #[cfg(target_os = "linux")]
        Document::LabReference => schema_of::<Report<Reference>>("unstall lab reference's report"),
        #[cfg(target_os = "linux")]
        Document::LabBurst => schema_of::<Report<Vec<Case>>>("unstall lab burst's report"),
        #[cfg(target_os = "linux")]
        Document::LabBacklog => schema_of::<Report<Backlog>>("unstall lab backlog's report"),
        Document::Error => schema_of::<ErrorReport>("unstall's answer to a command line that makes no sense"),
    };
    output::result(&crate::document::to_json(&schema), Exit::Ok)
}

fn schema_of<T: JsonSchema>(title: &str) -> Value {
    let mut root = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    root.insert("title".to_owned(), json!(title));
    root.to_value()
}
