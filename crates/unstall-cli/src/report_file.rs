//! Files for reports: made before anything is measured, so that a bad path costs nothing, and filled at the end, all at once or not
//! at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A place for a report.
#[derive(Debug)]
pub(crate) struct ReportFile {
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// Beside the file, which it replaces when the report is whole. It goes with the process that leaves it.
    Draft(NamedTempFile),
    /// A device or a pipe, which nothing can replace.
    Device(File),
}

impl ReportFile {
    /// Makes the place.
    pub(crate) fn create(path: &Path) -> Result<Self, String> {
        let place = place(path).map_err(|error| {
            format!("cannot write a report to {}: {error}; name a file that can be written", path.display())
        })?;
        Ok(Self { path: path.to_owned(), place })
    }

    /// Writes the report.
    pub(crate) fn write(self, text: &str) -> Result<(), String> {
        let written = match self.place {
            Place::Draft(mut draft) => draft
                .write_all(text.as_bytes())
                .and_then(|()| draft.persist(&self.path).map(drop).map_err(|error| error.error)),
            Place::Device(mut file) => file.write_all(text.as_bytes()),
        };
        written.map_err(|error| {
            format!(
                "cannot write the report to {}: {error}; free some space or name another file",
                self.path.display()
            )
        })
    }
}

fn place(path: &Path) -> io::Result<Place> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::Error::other("it is a folder")),
        Ok(found) if !found.is_file() => OpenOptions::new().write(true).open(path).map(Place::Device),
        Ok(found) if found.permissions().readonly() => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
        _ => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            draft(folder.unwrap_or(Path::new("."))).map(Place::Draft)
        }
    }
}

fn draft(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    // As any new file, and not as a secret.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(".unstall-").tempfile_in(folder)
}
