//! The C header, which is made from the functions and types that it declares.

use crate::workspace::Workspace;
use cbindgen::{Builder, Config};
use std::fmt::Write;

/// The header, below the workspace's folder.
pub(crate) const FILE: &str = "crates/unstall-ffi/include/unstall.h";

const CRATE: &str = "crates/unstall-ffi";

/// What only a macro can say. The version is that of the header, for comparison with `unstall_version()`.
const MACROS: &str = "
/// The version of this header; unstall_version() is the library's.
#define UNSTALL_VERSION \"{version}\"

/// What stands in place of a socket where there is none.
#define UNSTALL_INVALID_SOCKET ((unstall_socket)-1)

/// Options with every default.
#define UNSTALL_OPTIONS_INIT {sizeof(unstall_options), 0, 0, 0, 0, 0, 0, 0}";

const FIRST_LINES: &str = "// unstall: TCP connects that never stall where the operating system need not.\n\
     //\n\
     // Made from crates/unstall-ffi by `cargo xtask docs`. MIT OR Apache-2.0.\n//";

/// The header as the crate is now.
pub(crate) fn text(workspace: &Workspace) -> Result<String, String> {
    let folder = workspace.root.join(CRATE);
    let package = workspace.members().into_iter().find(|package| package.name == "unstall-ffi");
    let version = package.ok_or("there is no package unstall-ffi")?.version.to_string();
    let mut config = Config::from_file(folder.join("cbindgen.toml"))?;
    let source = folder.join("src/lib.rs");
    let documentation = std::fs::read_to_string(&source)
        .map_err(|error| format!("cannot read {}: {error}", source.display()))?;
    config.header = Some(format!("{FIRST_LINES}\n{}", contract(&documentation)));
    config.after_includes = Some(MACROS.replace("{version}", &version));
    let bindings = Builder::new()
        .with_crate(&folder)
        .with_config(config)
        .generate()
        .map_err(|error| format!("cannot make {FILE}: {error}"))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text).map_err(|error| format!("{FILE}: {error}"))?;
    Ok(for_c(&text))
}

/// What the crate's page says about every function, as comments.
fn contract(source: &str) -> String {
    let lines = source.lines().skip_while(|line| !line.starts_with("//! # What holds"));
    let lines = lines.map_while(|line| line.strip_prefix("//!"));
    let lines: Vec<String> =
        lines.map(|line| format!("//{}", line.replace("# ", "").replace("**", ""))).collect();
    lines.join("\n").replace("[`guard`](guard::guard)", "a guard")
}

/// Drops what C's readers have no use for, the sections about Rust's rules for calling, and puts negative numbers in
/// parentheses, as macros want them.
fn for_c(text: &str) -> String {
    let mut kept = String::new();
    let mut skipping = false;
    for line in text.lines() {
        let comment = line.trim_start().starts_with("///");
        skipping = comment && (skipping || line.trim_end().ends_with("/// # Safety"));
        if skipping {
            continue;
        }
        // The line before such a section is empty, and ends the comment otherwise.
        if !comment && kept.ends_with("///\n") {
            kept.truncate(kept.len() - "///\n".len());
        }
        match line.rsplit_once(' ') {
            Some((define, number)) if define.starts_with("#define ") && number.starts_with('-') => {
                // Writing to memory does not fail.
                let _ = write!(kept, "{define} ({number})");
            }
            _ => kept.push_str(line.trim_end()),
        }
        kept.push('\n');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::for_c;

    #[test]
    fn what_is_for_rust_is_left_out() {
        let text = "/// Frees.\n///\n/// # Safety\n/// Once.\nvoid f(char *text);\n#define LESS -1\n#define MORE 1\n";
        assert_eq!(for_c(text), "/// Frees.\nvoid f(char *text);\n#define LESS (-1)\n#define MORE 1\n");
    }
}
