//! Windows: WSCEnumProtocols, which unlike WSAEnumProtocols shows the layers themselves, and WSCGetProviderPath.

use super::{Place, Provider};
use crate::error::Error;
use crate::windows::{text, winsock};
use std::io;
use std::ptr::{null, null_mut};
use windows_sys::Win32::Networking::WinSock::{
    WSAENOBUFS, WSAPROTOCOL_INFOW, WSCEnumProtocols, WSCGetProviderPath,
};
use windows_sys::core::GUID;

const NAME: &str = "the Winsock catalogue";
/// How often a catalogue that grew between two calls is read again.
const TRIES: usize = 8;
/// The longest path of a library: MAX_PATH.
const LONGEST_PATH: u16 = 260;

pub(super) fn catalogue() -> Result<Vec<Provider>, Error> {
    let failed = |code| Error::table(NAME, io::Error::from_raw_os_error(code));
    winsock::startup().map_err(failed)?;
    Ok(entries().map_err(failed)?.iter().map(provider).collect())
}

fn entries() -> Result<Vec<WSAPROTOCOL_INFOW>, i32> {
    let mut entries: Vec<WSAPROTOCOL_INFOW> = Vec::new();
    for _ in 0..TRIES {
        let mut bytes = size_of_val(entries.as_slice()) as u32;
        let buffer = if entries.is_empty() { null_mut() } else { entries.as_mut_ptr() };
        let mut code = 0;
        // SAFETY: null asks for all protocols; the buffer has the length that is passed with it.
        let number = unsafe { WSCEnumProtocols(null(), buffer, &raw mut bytes, &raw mut code) };
        match usize::try_from(number) {
            Ok(number) => {
                entries.truncate(number);
                return Ok(entries);
            }
            Err(_) if code == WSAENOBUFS => {
                let number = (bytes as usize).div_ceil(size_of::<WSAPROTOCOL_INFOW>());
                entries.resize(number, WSAPROTOCOL_INFOW::default());
            }
            Err(_) => return Err(code),
        }
    }
    Err(WSAENOBUFS)
}

fn provider(entry: &WSAPROTOCOL_INFOW) -> Provider {
    Provider {
        name: text(&entry.szProtocol),
        library: library(&entry.ProviderId),
        place: match u32::try_from(entry.ProtocolChain.ChainLen) {
            Ok(0) => Place::Layer,
            Ok(1) | Err(_) => Place::Base,
            Ok(length) => Place::Chain(length),
        },
        id: entry.dwCatalogEntryId,
    }
}

/// The library of a provider. Wine reports success and writes nothing.
fn library(id: &GUID) -> Option<String> {
    let mut path = [0_u16; LONGEST_PATH as usize];
    let (mut length, mut code) = (i32::from(LONGEST_PATH), 0);
    // SAFETY: the id is read, and the path has the length that is passed with it.
    let returned = unsafe { WSCGetProviderPath(id, path.as_mut_ptr(), &raw mut length, &raw mut code) };
    let path = text(&path);
    (returned == 0 && !path.is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_has_a_base_provider() {
        match catalogue() {
            Ok(catalogue) => assert!(catalogue.iter().any(|provider| provider.place == Place::Base)),
            Err(error) => panic!("{error}"),
        }
    }
}
