//! Archives whose bytes depend on their contents alone: sorted, with one time for all, and no owner.

use super::platforms::Format;
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Something in an archive.
pub(crate) enum Entry {
    File {
        bytes: Vec<u8>,
        executable: bool,
    },
    /// A symbolic link to a file of the same folder.
    Link(String),
}

impl Entry {
    /// A file that is not run.
    pub(crate) fn text(bytes: impl Into<Vec<u8>>) -> Self {
        Self::File { bytes: bytes.into(), executable: false }
    }

    pub(crate) fn program(bytes: Vec<u8>) -> Self {
        Self::File { bytes, executable: true }
    }
}

/// What an archive contains, by path within it.
pub(crate) type Contents = BTreeMap<String, Entry>;

/// Writes an archive, and returns its SHA-256 in hexadecimal digits. `seconds` since 1970 is the time of every file.
pub(crate) fn write(
    path: &Path,
    format: Format,
    contents: &Contents,
    seconds: u64,
) -> Result<String, String> {
    let bytes = match format {
        Format::TarGz => tar_gz(contents, seconds),
        // Its times are of 1980, for the format knows no time zone.
        Format::Zip => zip(contents).map_err(io::Error::other),
    };
    let bytes = bytes.map_err(|error| format!("cannot pack {}: {error}", path.display()))?;
    fs::write(path, &bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(sha256(&bytes))
}

/// The SHA-256 of some bytes, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |sum, byte| sum + &format!("{byte:02x}"))
}

/// The SHA-256 of a file.
pub(crate) fn sha256_of(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(sha256(&bytes))
}

fn tar_gz(contents: &Contents, seconds: u64) -> io::Result<Vec<u8>> {
    let gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let mut archive = tar::Builder::new(gzip);
    for (path, entry) in contents {
        let mut header = tar::Header::new_gnu();
        header.set_mtime(seconds);
        header.set_uid(0);
        header.set_gid(0);
        match entry {
            Entry::File { bytes, executable } => {
                header.set_mode(mode(*executable));
                header.set_size(bytes.len() as u64);
                archive.append_data(&mut header, path, bytes.as_slice())?;
            }
            Entry::Link(target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_mode(0o777);
                header.set_size(0);
                archive.append_link(&mut header, path, target)?;
            }
        }
    }
    archive.into_inner()?.finish()
}

fn zip(contents: &Contents) -> zip::result::ZipResult<Vec<u8>> {
    let mut archive = ZipWriter::new(io::Cursor::new(Vec::new()));
    for (path, entry) in contents {
        match entry {
            Entry::File { bytes, executable } => {
                let options = SimpleFileOptions::default().unix_permissions(mode(*executable));
                archive.start_file(path, options.last_modified_time(zip::DateTime::default()))?;
                archive.write_all(bytes)?;
            }
            Entry::Link(target) => archive.add_symlink(path, target, SimpleFileOptions::default())?,
        }
    }
    Ok(archive.finish()?.into_inner())
}

fn mode(executable: bool) -> u32 {
    if executable { 0o755 } else { 0o644 }
}

/// Writes `SHA256SUMS` as sha256sum reads it.
pub(crate) fn write_sums(folder: &Path, sums: &BTreeMap<String, String>) -> Result<(), String> {
    let path = folder.join("SHA256SUMS");
    let write = || {
        let mut file = File::create(&path)?;
        sums.iter().try_for_each(|(name, sum)| writeln!(file, "{sum}  {name}"))
    };
    write().map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{Contents, Entry, sha256, tar_gz, zip};

    fn contents() -> Contents {
        Contents::from([
            ("a/program".to_owned(), Entry::program(vec![1, 2, 3])),
            ("a/README.md".to_owned(), Entry::text("read me")),
            ("a/link".to_owned(), Entry::Link("program".to_owned())),
        ])
    }

    #[test]
    fn the_same_contents_are_the_same_bytes() {
        assert_eq!(tar_gz(&contents(), 7).unwrap(), tar_gz(&contents(), 7).unwrap());
        assert_eq!(zip(&contents()).unwrap(), zip(&contents()).unwrap());
    }

    #[test]
    fn a_tar_keeps_modes_times_and_links() {
        let packed = tar_gz(&contents(), 1_700_000_000).unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
        let entries: Vec<_> = archive.entries().unwrap().map(Result::unwrap).collect();
        let said: Vec<_> = entries
            .iter()
            .map(|entry| (entry.path().unwrap().display().to_string(), entry.header().mode().unwrap()))
            .collect();
        let expected = [("a/README.md", 0o644), ("a/link", 0o777), ("a/program", 0o755)];
        assert_eq!(said, expected.map(|(path, mode)| (path.to_owned(), mode)));
        assert!(entries.iter().all(|entry| entry.header().mtime().unwrap() == 1_700_000_000));
        assert_eq!(entries[1].link_name().unwrap().unwrap().to_str(), Some("program"));
    }

    #[test]
    fn the_sum_is_that_of_the_standard() {
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), expected);
    }
}
