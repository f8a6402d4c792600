//! What `unstall run` does to an unchanged Windows program: the decisions, without a single call of Windows.
//!
//! # The contract
//!
//! ```text
//! unstall run [--fix LIST] [--no-fix LIST] [--report FILE] [-v] -- PROGRAM [ARGUMENT...]
//! ```
//!
//! | file beside `unstall.exe` | what it is |
//! |---|---|
//! | `unstall_hook64.dll` | the fixes, for 64-bit programs (cargo calls it `unstall_hook.dll`, which is found too) |
//! | `unstall_hook32.dll` | the same for 32-bit programs |
//! | `unstall-load64.exe`, `unstall-load32.exe` | load the DLL of their bitness: Windows has a thread made only by a process of the same one |
//!
//! A process gets its [`settings::Settings`] by shared memory named [`settings::name`] (its process id), which whoever starts it
//! makes before it runs and closes when the DLL has read it. So nothing in its environment changes, and an environment block
//! of its own makes no difference. What it does to local connects it appends as a line of JSON, a [`record::Record`], to the
//! file that the settings name, with one write each, so that processes and threads do not mix; `unstall run` makes the report
//! of the lines when the program has ended.

pub mod fixes;
pub mod record;
pub mod settings;
pub mod so_error;
