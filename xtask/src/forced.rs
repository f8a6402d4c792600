//! Builds with a secondary path forced by `--cfg` flags.

use crate::workspace::Workspace;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// Makes a call of cargo build the workspace's own packages with `flags` (names of cfg flags).
///
/// `RUSTFLAGS` would do, at the price of building every dependency again for each set of flags; a wrapper around the compiler
/// touches the workspace alone. Cargo keeps the results of each wrapper apart by its path, so all of them share a target folder.
pub(crate) fn force(command: &mut Command, workspace: &Workspace, flags: &[&str]) -> Result<(), String> {
    let folder = workspace.target.join("forced");
    let wrapper = folder.join(flags.join("+"));
    fs::create_dir_all(&folder)
        .and_then(|()| write_script(&wrapper, &script(flags)))
        .map_err(|error| format!("cannot write {}: {error}", wrapper.display()))?;
    command.env("RUSTC_WORKSPACE_WRAPPER", wrapper);
    Ok(())
}

fn script(flags: &[&str]) -> String {
    format!("#!/bin/sh\nexec \"$@\" --cfg {}\n", flags.join(" --cfg "))
}

/// Writes a file that can be run, unless it is there: a script that is being run cannot be written.
fn write_script(file: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(file).is_ok_and(|present| present == text) {
        return Ok(());
    }
    fs::write(file, text)?;
    make_executable(file)
}

#[cfg(unix)]
fn make_executable(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "secondary paths are forced on a Unix host alone"))
}

#[cfg(test)]
mod tests {
    use super::script;

    #[test]
    fn the_wrapper_adds_each_flag_behind_the_compilers_arguments() {
        assert_eq!(script(&["a", "b"]), "#!/bin/sh\nexec \"$@\" --cfg a --cfg b\n");
    }
}
