//! `cargo xtask api`: what the libraries offer, written down in docs/api, so that a change to it is seen; and no type of a library
//! that is not meant to be part of it.
//!
//! It reads what rustdoc tells programs. That form is not stable, so the compiler is told to allow it, and only the little is read
//! that has stayed the same.

use crate::run::Run;
use crate::workspace::{Workspace, cargo};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// The libraries that people add.
const PACKAGES: &[&str] = &["unstall-core", "unstall"];

/// The libraries whose types may be seen: the language's, our own, and those that a feature of the same name is there for.
const ALLOWED: &[&str] = &[
    "alloc",
    "async_io",
    "core",
    "hickory_resolver",
    "http",
    "hyper",
    "hyper_util",
    "serde",
    "serde_core",
    "std",
    "tokio",
    "tower_service",
    "unstall",
    "unstall_core",
    "ureq",
    "ureq_proto",
];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write docs/api anew in place of comparing with it.
    #[arg(long)]
    write: bool,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode, String> {
    let mut run = Run::new(&workspace.target)?;
    add(&mut run, workspace, options.write);
    Ok(run.finish())
}

/// The checks as steps of a longer run.
pub(crate) fn add(run: &mut Run, workspace: &Workspace, write: bool) {
    for package in PACKAGES {
        run.step(&format!("the public API of {package}"), || check(workspace, package, write));
    }
}

fn check(workspace: &Workspace, package: &str, write: bool) -> Result<(), String> {
    let api = read(workspace, package)?;
    let file = workspace.root.join(format!("docs/api/{package}.txt"));
    if write {
        let text = api.lines.iter().fold(String::new(), |text, line| text + line + "\n");
        fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    let complaints = [api.foreign.into_iter().collect(), compare(&file, &api.lines)?].concat();
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n")) }
}

/// What is gone, which breaks programs and needs a version that says so, and what is new.
fn compare(file: &Path, lines: &BTreeSet<String>) -> Result<Vec<String>, String> {
    let known =
        fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let known: BTreeSet<String> = known.lines().map(str::to_owned).collect();
    let gone = known.difference(lines).map(|line| format!("gone (breaks programs): {line}"));
    let new = lines.difference(&known).map(|line| format!("new: {line}"));
    let mut complaints: Vec<String> = gone.chain(new).collect();
    if !complaints.is_empty() {
        complaints.push("if that is meant: cargo xtask api --write, and a line in CHANGELOG.md".to_owned());
    }
    Ok(complaints)
}

fn read(workspace: &Workspace, package: &str) -> Result<Api, String> {
    let target = workspace.target.join("api");
    let mut rustdoc = cargo(["rustdoc", "--quiet", "--lib", "--all-features", "--package", package, "--"]);
    rustdoc.args(["-Z", "unstable-options", "--output-format", "json", "--cap-lints", "allow"]);
    rustdoc.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", &target);
    let output = rustdoc.output().map_err(|error| format!("cargo rustdoc: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let file = target.join("doc").join(package.replace('-', "_")).with_extension("json");
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let json = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut api = Api { json, lines: BTreeSet::new(), foreign: BTreeSet::new() };
    let root = api.json["root"].clone();
    api.module(&root, &package.replace('-', "_"));
    Ok(api)
}

struct Api {
    json: Value,
    lines: BTreeSet<String>,
    foreign: BTreeSet<String>,
}

/// How ids are written as keys.
fn key(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

impl Api {
    /// The kind of an item and what it holds.
    fn item(&self, id: &Value) -> Option<(String, Value, Value)> {
        let item = &self.json["index"][key(id)];
        let (kind, inner) = item["inner"].as_object()?.iter().next()?;
        Some((
            item["name"].as_str().unwrap_or_default().to_owned(),
            Value::from(kind.as_str()),
            inner.clone(),
        ))
    }

    fn module(&mut self, id: &Value, path: &str) {
        let Some((_, _, inner)) = self.item(id) else { return };
        for id in list(&inner["items"]) {
            self.member(&id, path);
        }
    }

    fn member(&mut self, id: &Value, parent: &str) {
        let Some((name, kind, inner)) = self.item(id) else { return };
        let path = format!("{parent}::{name}");
        match kind.as_str().unwrap_or_default() {
            "module" => self.module(id, &path),
            "use" => self.reexport(&inner, parent),
            kind => self.thing(id, kind, &inner, &path),
        }
    }

    fn reexport(&mut self, inner: &Value, parent: &str) {
        let path = format!("{parent}::{}", inner["name"].as_str().unwrap_or_default());
        match self.item(&inner["id"]) {
            Some((_, kind, target)) if kind != "module" => {
                self.thing(&inner["id"], kind.as_str().unwrap_or_default(), &target, &path);
            }
            _ => {
                self.line(&format!("use {path} = {}", inner["source"].as_str().unwrap_or_default()), inner);
            }
        }
    }

    fn thing(&mut self, id: &Value, kind: &str, inner: &Value, path: &str) {
        match kind {
            "function" => {
                let signature = self.text(&inner["sig"]) + &self.generics(&inner["generics"]);
                let header: String = ["is_const", "is_async", "is_unsafe"]
                    .into_iter()
                    .filter(|flag| inner["header"][flag] == true)
                    .map(|flag| flag.replace("is_", "") + " ")
                    .collect();
                self.line(&format!("{header}fn {path}{signature}"), inner);
            }
            "struct_field" => self.line(&format!("field {path}: {}", self.text(inner)), inner),
            "constant" | "assoc_const" | "static" | "assoc_type" | "type_alias" => {
                self.line(&format!("{kind} {path}: {}", self.text(&inner["type"])), inner);
            }
            _ => {
                let open = self.json["index"][key(id)]["attrs"].to_string();
                let mark = if open.contains("non_exhaustive") { "#[non_exhaustive] " } else { "" };
                self.line(&format!("{mark}{kind} {path}{}", self.generics(&inner["generics"])), &Value::Null);
                self.parts(inner, path);
            }
        }
    }

    /// The fields, variants, methods and traits of a type.
    fn parts(&mut self, inner: &Value, path: &str) {
        let fields =
            [&inner["kind"]["plain"]["fields"], &inner["kind"]["struct"]["fields"], &inner["kind"]["tuple"]];
        let parts = fields.into_iter().chain([&inner["variants"], &inner["items"]]).flat_map(list);
        for id in parts.collect::<Vec<_>>() {
            self.member(&id, path);
        }
        for id in list(&inner["impls"]) {
            let Some((_, _, implementation)) = self.item(&id) else { continue };
            if implementation["is_synthetic"] == true || !implementation["blanket_impl"].is_null() {
                continue;
            }
            if implementation["trait"].is_null() {
                for id in list(&implementation["items"]) {
                    self.member(&id, path);
                }
            } else {
                let name = self.text(&implementation["trait"]);
                self.line(&format!("impl {name} for {path}"), &implementation["trait"]);
            }
        }
    }

    /// Notes a line, and what types of others it shows.
    fn line(&mut self, line: &str, holds: &Value) {
        let mut crates = BTreeMap::new();
        self.crates(holds, &mut crates);
        for (name, what) in crates.into_iter().filter(|(name, _)| !ALLOWED.contains(&name.as_str())) {
            self.foreign.insert(format!("{what} of {name} is part of the public API: {line}"));
        }
        self.lines.insert(line.to_owned());
    }

    /// The libraries that the types within `value` are from, and one type of each.
    fn crates(&self, value: &Value, found: &mut BTreeMap<String, String>) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.crates(value, found)),
            Value::Object(fields) => {
                let path = &self.json["paths"][fields.get("id").map(key).unwrap_or_default()];
                let of = &self.json["external_crates"][key(&path["crate_id"])]["name"];
                if let Some(of) = of.as_str() {
                    found.insert(of.to_owned(), path["path"].to_string());
                }
                fields.values().for_each(|value| self.crates(value, found));
            }
            _ => {}
        }
    }

    fn generics(&self, generics: &Value) -> String {
        let bound = |bounds: &Value| self.joined(bounds, " + ");
        let params = list(&generics["params"]).into_iter().filter_map(|param| {
            let of = bound(&param["kind"]["type"]["bounds"]);
            let synthetic = param["kind"]["type"]["is_synthetic"] == true;
            (!synthetic).then(|| format!("{}: {of}", param["name"].as_str().unwrap_or_default()))
        });
        let wheres = list(&generics["where_predicates"]).into_iter().map(|predicate| {
            let predicate = &predicate["bound_predicate"];
            format!("{}: {}", self.text(&predicate["type"]), bound(&predicate["bounds"]))
        });
        let all: Vec<String> = params.chain(wheres).collect();
        if all.is_empty() { String::new() } else { format!(" where {}", all.join(", ")) }
    }

    fn joined(&self, values: &Value, between: &str) -> String {
        list(values).iter().map(|value| self.text(value)).collect::<Vec<_>>().join(between)
    }

    /// A type, a trait, or a signature, as one writes it.
    fn text(&self, value: &Value) -> String {
        if !value["inputs"].is_null() {
            let inputs: Vec<String> =
                list(&value["inputs"]).iter().map(|input| self.text(&input[1])).collect();
            return format!("({}) -> {}", inputs.join(", "), self.text(&value["output"]));
        }
        if let Some(name) = value["id"].as_u64().map(|_| self.name_of(value)) {
            return name + &self.arguments(&value["args"]);
        }
        let Some((kind, of)) = value.as_object().and_then(|value| value.iter().next()) else {
            return value.as_str().unwrap_or("()").to_owned();
        };
        match kind.as_str() {
            "generic" | "primitive" => of.as_str().unwrap_or_default().to_owned(),
            "trait_bound" => self.text(&of["trait"]),
            "borrowed_ref" => {
                format!("&{}{}", if of["is_mutable"] == true { "mut " } else { "" }, self.text(&of["type"]))
            }
            "tuple" => format!("({})", self.joined(of, ", ")),
            "slice" => format!("[{}]", self.text(of)),
            "array" => format!("[{}; {}]", self.text(&of["type"]), of["len"].as_str().unwrap_or_default()),
            "impl_trait" => format!("impl {}", self.joined(of, " + ")),
            "dyn_trait" => format!("dyn {}", self.joined(&of["traits"], " + ")),
            "qualified_path" => {
                format!("{}::{}", self.text(&of["self_type"]), of["name"].as_str().unwrap_or_default())
            }
            "resolved_path" | "type" | "equality" | "trait" => self.text(of),
            other => other.to_owned(),
        }
    }

    fn name_of(&self, value: &Value) -> String {
        let path = list(&self.json["paths"][key(&value["id"])]["path"]);
        path.last().and_then(Value::as_str).unwrap_or("?").to_owned()
    }

    fn arguments(&self, arguments: &Value) -> String {
        let of = &arguments["angle_bracketed"];
        let constraints = list(&of["constraints"]).into_iter().map(|constraint| {
            format!(
                "{} = {}",
                constraint["name"].as_str().unwrap_or_default(),
                self.text(&constraint["binding"]["equality"])
            )
        });
        let all: Vec<String> =
            list(&of["args"]).iter().map(|argument| self.text(argument)).chain(constraints).collect();
        if all.is_empty() { String::new() } else { format!("<{}>", all.join(", ")) }
    }
}
