//! The version of Windows, and whether it is Wine.

use std::ffi::CStr;
use std::sync::OnceLock;
use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::SystemInformation::OSVERSIONINFOW;
use windows_sys::w;

/// A version: 10.0.26200 for example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
    pub(crate) build: u32,
}

/// The version, asked for once per process. RtlGetVersion tells it as it is; GetVersionEx and VerifyVersionInfo tell a program
/// without a manifest for Windows 10 that this is Windows 8.
pub(crate) fn version() -> Version {
    static VERSION: OnceLock<Version> = OnceLock::new();
    *VERSION.get_or_init(|| {
        let mut info = OSVERSIONINFOW {
            dwOSVersionInfoSize: size_of::<OSVERSIONINFOW>() as u32,
            ..OSVERSIONINFOW::default()
        };
        // SAFETY: `info` is writable and says its size. The function always succeeds.
        let _ = unsafe { RtlGetVersion(&raw mut info) };
        Version { major: info.dwMajorVersion, minor: info.dwMinorVersion, build: info.dwBuildNumber }
    })
}

/// Wine's version, `8.0`; `None`: this is not Wine.
pub(crate) fn wine() -> Option<String> {
    // SAFETY: the name ends with a zero.
    let ntdll = unsafe { GetModuleHandleW(w!("ntdll.dll")) };
    if ntdll.is_null() {
        return None;
    }
    // SAFETY: the module is never unloaded, and the name ends with a zero.
    let function = unsafe { GetProcAddress(ntdll, c"wine_get_version".as_ptr().cast()) }?;
    // SAFETY: Wine documents the function under this name so: no argument, a constant string.
    let function = unsafe {
        std::mem::transmute::<unsafe extern "system" fn() -> isize, extern "C" fn() -> *const core::ffi::c_char>(
            function,
        )
    };
    // SAFETY: the string is Wine's own, constant, and ends with a zero.
    let text = unsafe { CStr::from_ptr(function()) };
    Some(text.to_string_lossy().into_owned())
}
