//! `lab [PROFILE] -- PROGRAM ARGUMENTS...`: the library in a few lines.

use std::process::ExitCode;
use unstall_lab::{Error, Lab, Privilege, Profile, Program};

fn main() -> ExitCode {
    match run() {
        Ok(code) => code.into(),
        Err(error) => {
            eprintln!("lab: {error}");
            error.exit_code().into()
        }
    }
}

fn run() -> Result<u8, Error> {
    Privilege::acquire()?;
    let mut words = std::env::args_os().skip(1);
    let profile = words.by_ref().take_while(|word| word != "--").next();
    let profile = profile.as_ref().and_then(|word| word.to_str()).unwrap_or("windows-11");
    let program = Program::from_words(words.skip_while(|word| word == "--"))
        .ok_or_else(|| Error::Usage("which program? lab [PROFILE] -- PROGRAM ARGUMENTS...".to_owned()))?;
    let lab = Lab::builder(Profile::find(profile)?).start()?;
    for note in lab.notes() {
        eprintln!("lab: {note}");
    }
    let ended = lab.spawn(&program)?.wait(None);
    Ok(ended.ok().flatten().map_or(125, unstall_lab::Ended::code))
}
