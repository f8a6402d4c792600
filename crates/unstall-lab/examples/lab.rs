//! `lab [PROFILE] -- PROGRAM ARGUMENTS...`: the library in a few lines. `lab client REQUEST` is the client of its tests.

use std::process::ExitCode;
use unstall_lab::{Error, Foreground, Lab, Privilege, Profile, Program};

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
    let mut words = std::env::args_os().skip(1).peekable();
    if words.next_if(|word| word == "client").is_some() {
        let request = words.next().unwrap_or_default();
        let answer = unstall_lab::client::main(&request.to_string_lossy());
        println!("{}", answer.map_err(|e| Error::Usage(e.to_string()))?);
        return Ok(0);
    }
    Privilege::acquire()?;
    let foreground = Foreground::prepare()?;
    let profile = words.next_if(|word| word != "--");
    let profile = profile.as_ref().and_then(|word| word.to_str()).unwrap_or("windows-11");
    let program = Program::from_words(words.skip(1))
        .ok_or_else(|| Error::Usage("which program? lab [PROFILE] -- PROGRAM ARGUMENTS...".to_owned()))?;
    let lab = Lab::builder(Profile::find(profile)?).start()?;
    for note in lab.notes() {
        eprintln!("lab: {note}");
    }
    if let Some(interrupted) = foreground.interrupted()? {
        return Ok(interrupted.code());
    }
    Ok(foreground.run(&lab, &program)?.code())
}
