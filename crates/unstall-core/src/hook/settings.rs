//! What a process is told when the DLL is loaded: lines of `key=value`, in UTF-8, ended by an empty line.

use super::fixes::{Fix, Fixes};

/// The first line. A DLL that finds another one is of another release and does nothing.
const VERSION: &str = "unstall-run 1";

/// How large the shared memory is, in bytes.
pub const ROOM: usize = 16 * 1024;

/// The name of the shared memory from which a process reads its settings.
pub fn name(process_id: u32) -> String {
    format!(r"Local\unstall-run-{process_id}")
}

/// What a process is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What is to be done.
    pub fixes: Fixes,
    /// The folder with the DLLs and their loaders.
    pub folder: String,
    /// The file that records are appended to. `None`: nobody wants any.
    pub records: Option<String>,
    /// For tests: DLLs to load before ours.
    pub before: Vec<String>,
    /// For tests: how long each real SO_ERROR takes, in ms, as if mswsock stalled.
    pub so_error_stall_ms: u32,
}

impl Settings {
    /// As it is written into the shared memory. `None`: it does not fit, or a path has a line break in it.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let mut lines = vec![VERSION.to_owned(), format!("folder={}", self.folder)];
        lines.extend(self.fixes.iter().map(|fix| format!("fix={}", fix.id())));
        lines.extend(self.records.iter().map(|path| format!("records={path}")));
        lines.extend(self.before.iter().map(|path| format!("before={path}")));
        lines.push(format!("so-error-stall-ms={}", self.so_error_stall_ms));
        if lines.iter().any(|line| line.contains(['\n', '\0'])) {
            return None;
        }
        let text = lines.join("\n") + "\n\n";
        (text.len() <= ROOM).then(|| text.into_bytes())
    }

    /// What is in the shared memory. `None`: that is of another release, or damaged.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n")?;
        let mut lines = std::str::from_utf8(&bytes[..end]).ok()?.lines();
        if lines.next()? != VERSION {
            return None;
        }
        let mut settings = Self::default();
        let mut fixes = Vec::new();
        for line in lines {
            let (key, value) = line.split_once('=')?;
            match key {
                "folder" => value.clone_into(&mut settings.folder),
                "fix" => fixes.push(Fix::from_id(value)?),
                "records" => settings.records = Some(value.to_owned()),
                "before" => settings.before.push(value.to_owned()),
                "so-error-stall-ms" => settings.so_error_stall_ms = value.parse().ok()?,
                _ => return None,
            }
        }
        settings.fixes = fixes.into_iter().collect();
        Some(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::{Fix, ROOM, Settings};

    fn settings() -> Settings {
        Settings {
            fixes: [Fix::FastRefusal, Fix::Nodelay].into_iter().collect(),
            folder: r"C:\Program Files\ünstall=1".to_owned(),
            records: Some(r"C:\x.jsonl".to_owned()),
            before: vec![r"C:\a.dll".to_owned(), r"C:\b.dll".to_owned()],
            so_error_stall_ms: 14,
        }
    }

    #[test]
    fn what_was_written_is_read_whatever_follows_it() {
        for settings in [Settings::default(), settings()] {
            let mut bytes = settings.encode().unwrap();
            bytes.resize(ROOM, 0xFF);
            assert_eq!(Settings::decode(&bytes), Some(settings));
        }
    }

    #[test]
    fn damage_and_other_releases_are_noticed() {
        let bytes = settings().encode().unwrap();
        for end in 0..bytes.len() - 1 {
            assert_eq!(Settings::decode(&bytes[..end]), None, "cut at {end}");
        }
        assert_eq!(Settings::decode(b"unstall-run 2\n\n"), None);
        assert_eq!(Settings::decode(b"unstall-run 1\nfix=magic\n\n"), None);
        let long = Settings { folder: "x".repeat(ROOM), ..Settings::default() };
        assert_eq!(long.encode(), None);
        let broken = Settings { folder: "a\nfix=nodelay".to_owned(), ..Settings::default() };
        assert_eq!(broken.encode(), None);
    }
}
