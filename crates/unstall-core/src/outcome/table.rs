//! Looking codes up: by platform, operation and number.

use super::resolver::EAIS;
use super::unix::{ERRNOS, Errno};
use super::windows::CODES;
use super::{Operation, Outcome};

/// Whose numbers an error code is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Platform {
    /// Linux and Android, in the generic numbering (not MIPS, SPARC, Alpha, PA-RISC).
    Linux,
    /// macOS, iOS and their kin.
    Apple,
    /// FreeBSD, NetBSD, OpenBSD, DragonFly, and any Unix that is none of the others.
    Bsd,
    /// Windows.
    Windows,
}

impl Platform {
    /// Every platform.
    pub const ALL: [Self; 4] = [Self::Linux, Self::Apple, Self::Bsd, Self::Windows];

    /// The one that this is compiled for.
    pub const CURRENT: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(any(target_os = "linux", target_os = "android")) {
        Self::Linux
    } else if cfg!(target_vendor = "apple") {
        Self::Apple
    } else {
        Self::Bsd
    };
}

/// What the tables know about a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Known {
    /// Its symbolic name, `ECONNREFUSED` for example.
    pub name: &'static str,
    /// What it means for a connect.
    pub outcome: Outcome,
    /// What it means, in words: one line, no full stop.
    pub meaning: &'static str,
}

/// Where a code means something else than in general: platform (`None`: every one), operation, name, and what
/// then.
const BY_OPERATION: &[(Option<Platform>, Operation, &str, Outcome, &str)] = &[
    // ICMP errors that Linux turns into these errnos for a connect; in general they are about options and
    // calls.
    (
        None,
        Operation::Connect,
        "ENOPROTOOPT",
        Outcome::Unreachable,
        "the host does not speak TCP (ICMP: protocol unreachable)",
    ),
    (
        Some(Platform::Linux),
        Operation::Connect,
        "EOPNOTSUPP",
        Outcome::Unreachable,
        "a router could not route it (ICMP: source route failed)",
    ),
    (
        Some(Platform::Linux),
        Operation::Connect,
        "EINVAL",
        Outcome::Unreachable,
        "a blackhole route, or a link-local address without its zone",
    ),
];

/// What the tables know about a code that an operation gave, or `None`.
///
/// For [`Operation::Resolve`] the code is getaddrinfo's. Where that left it to errno (EAI_SYSTEM) the errno
/// may be given instead: on Linux the two do not overlap; on Apple's systems and the BSDs 1 to 14 are
/// getaddrinfo's. On Windows there is one numbering.
///
/// ECONNRESET from a connect is [`Outcome::Refused`]: a reset in answer to the SYN is ECONNREFUSED
/// everywhere, so this one came right after the handshake, and like a refusal it says at once that nobody
/// serves there. The code, kept beside the outcome, tells the two apart.
///
/// ```
/// # use unstall_core::outcome::{Operation, Outcome, Platform, lookup};
/// let known = lookup(Platform::Windows, Operation::Connect, 1225).unwrap();
/// assert_eq!((known.name, known.outcome), ("ERROR_CONNECTION_REFUSED", Outcome::Refused));
/// ```
pub fn lookup(platform: Platform, operation: Operation, code: i32) -> Option<Known> {
    let mut known = match (platform, operation) {
        (Platform::Windows, _) => windows(code),
        (_, Operation::Resolve) => resolver(platform, code).or_else(|| errno(platform, code)),
        _ => errno(platform, code),
    }?;
    let other = BY_OPERATION.iter().find(|(on, of, name, _, _)| {
        *of == operation && *name == known.name && on.is_none_or(|on| on == platform)
    });
    if let Some(&(.., outcome, meaning)) = other {
        known.outcome = outcome;
        known.meaning = meaning;
    }
    Some(known)
}

/// What a code means for a connect; [`Outcome::Unknown`] when no table has it.
pub fn classify(platform: Platform, operation: Operation, code: i32) -> Outcome {
    lookup(platform, operation, code).map_or(Outcome::Unknown, |known| known.outcome)
}

/// A code's symbolic name.
pub fn name(platform: Platform, operation: Operation, code: i32) -> Option<&'static str> {
    lookup(platform, operation, code).map(|known| known.name)
}

/// What a code means, in words.
pub fn meaning(platform: Platform, operation: Operation, code: i32) -> Option<&'static str> {
    lookup(platform, operation, code).map(|known| known.meaning)
}

fn windows(code: i32) -> Option<Known> {
    let row = CODES.iter().find(|row| row.number == code)?;
    Some(Known { name: row.name, outcome: row.outcome, meaning: row.meaning })
}

/// For each errno of Linux, Apple's systems and the BSDs the place of its row in [`ERRNOS`], counted from 1; 0: none. Every refused
/// connect looks its code up, so this is no search.
static PLACES: [[u8; 256]; 3] = {
    let mut places = [[0; 256]; 3];
    let mut row = ERRNOS.len();
    // From the end, so that of two rows with one number the first counts.
    while row > 0 {
        let Errno { linux, apple, bsd, .. } = ERRNOS[row - 1];
        places[0][linux as usize] = row as u8;
        places[1][apple as usize] = row as u8;
        places[2][bsd as usize] = row as u8;
        row -= 1;
    }
    places
};

fn errno(platform: Platform, code: i32) -> Option<Known> {
    let places = match platform {
        Platform::Apple => &PLACES[1],
        Platform::Bsd => &PLACES[2],
        _ => &PLACES[0],
    };
    // 0 in a row means that the system has no such errno.
    let code = usize::try_from(code).ok().filter(|code| *code != 0)?;
    let place = usize::from(*places.get(code)?);
    let row = ERRNOS.get(place.checked_sub(1)?)?;
    Some(Known { name: row.name, outcome: row.outcome, meaning: row.meaning })
}

fn resolver(platform: Platform, code: i32) -> Option<Known> {
    let row = EAIS.iter().filter(|_| code != 0).find(|row| match platform {
        Platform::Apple => row.apple == code,
        // OpenBSD's are negative, the others' positive: both at once are unambiguous.
        Platform::Bsd => row.apple == code || row.openbsd == code,
        _ => row.glibc == code,
    })?;
    Some(Known { name: row.name, outcome: row.outcome, meaning: row.meaning })
}
