//! What the console of this program can show. Windows only; elsewhere the locale tells.

use std::io;
use std::os::windows::io::AsRawHandle;
use windows_sys::Win32::Graphics::Gdi::TMPF_TRUETYPE;
use windows_sys::Win32::System::Console::{CONSOLE_FONT_INFOEX, GetCurrentConsoleFontEx};

/// Whether the font of the console that stdout is has the characters of any language, or only those of an old code page, as the
/// raster fonts have. `None`: stdout is no console, or it does not tell.
///
/// A program of Rust writes to a console in UTF-16, whatever its code page; so the font is all that matters.
pub fn has_truetype_font() -> Option<bool> {
    let mut font = CONSOLE_FONT_INFOEX {
        cbSize: size_of::<CONSOLE_FONT_INFOEX>() as u32,
        ..CONSOLE_FONT_INFOEX::default()
    };
    // SAFETY: `font` is writable and says its size; a handle that is no console is an error.
    let told = unsafe { GetCurrentConsoleFontEx(io::stdout().as_raw_handle(), 0, &raw mut font) };
    (told != 0).then_some(font.FontFamily & u32::from(TMPF_TRUETYPE) != 0)
}
