//! The systems that a release is built for.

/// How an archive is packed: as people of that system expect it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    TarGz,
    Zip,
}

impl Format {
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::TarGz => ".tar.gz",
            Self::Zip => ".zip",
        }
    }
}

/// One system.
#[derive(Debug)]
pub(crate) struct Platform {
    /// Rust's name for it, and ours in the names of archives.
    pub(crate) triple: &'static str,
    pub(crate) format: Format,
    /// What programs of the other bitness are built for, which `unstall run` follows too.
    pub(crate) other_bitness: Option<&'static str>,
    /// The C interface has an archive of its own: its libraries, as the compiler names them, and as they are called there.
    pub(crate) c_libraries: &'static [(&'static str, &'static str)],
}

const MACOS: &[(&str, &str)] =
    &[("libunstall_ffi.a", "lib/libunstall.a"), ("libunstall_ffi.dylib", "lib/libunstall.dylib")];

/// Every platform that there are archives for.
pub(crate) const PLATFORMS: &[Platform] = &[
    Platform {
        triple: "x86_64-unknown-linux-gnu",
        format: Format::TarGz,
        other_bitness: None,
        c_libraries: &[
            ("libunstall_ffi.a", "lib/libunstall.a"),
            ("libunstall_ffi.so", "lib/libunstall.so.{version}"),
        ],
    },
    // One file that runs on any Linux. No C interface: its library could only be linked to programs that use musl as well.
    Platform {
        triple: "x86_64-unknown-linux-musl",
        format: Format::TarGz,
        other_bitness: None,
        c_libraries: &[],
    },
    Platform {
        triple: "x86_64-pc-windows-gnu",
        format: Format::Zip,
        other_bitness: Some("i686-pc-windows-gnu"),
        c_libraries: &[
            ("unstall_ffi.dll", "bin/unstall_ffi.dll"),
            ("libunstall_ffi.dll.a", "lib/libunstall_ffi.dll.a"),
        ],
    },
    Platform {
        triple: "x86_64-apple-darwin",
        format: Format::TarGz,
        other_bitness: None,
        c_libraries: MACOS,
    },
    Platform {
        triple: "aarch64-apple-darwin",
        format: Format::TarGz,
        other_bitness: None,
        c_libraries: MACOS,
    },
];

impl Platform {
    pub(crate) fn of(triple: &str) -> Option<&'static Self> {
        PLATFORMS.iter().find(|platform| platform.triple == triple)
    }

    pub(crate) fn is_windows(&self) -> bool {
        self.triple.contains("windows")
    }

    /// The name of the program.
    pub(crate) fn program(&self) -> &'static str {
        if self.is_windows() { "unstall.exe" } else { "unstall" }
    }

    /// The folder within the archive, which is also its name without the suffix.
    pub(crate) fn folder(&self, version: &str) -> String {
        format!("unstall-{version}-{}", self.triple)
    }

    pub(crate) fn archive(&self, version: &str) -> String {
        format!("{}{}", self.folder(version), self.format.suffix())
    }
}
