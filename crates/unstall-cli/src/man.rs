//! `unstall man`: a page for the program and one for each command, from the same tables as `--help`.

use crate::args;
use crate::examples::{self, Page};
use crate::exit::Exit;
use crate::output;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::fs;
use std::io;
use std::path::Path;

/// Prints the main page, or writes all pages into a folder.
pub(crate) fn run(folder: Option<&Path>) -> Exit {
    let mut pages = match pages() {
        Ok(pages) => pages,
        Err(error) => return could_not(&format!("cannot make the man pages: {error}")),
    };
    let Some(folder) = folder else { return output::result(&pages.swap_remove(0).1, Exit::Ok) };
    for (name, text) in pages {
        let file = folder.join(name);
        if let Err(error) = fs::write(&file, text) {
            return could_not(&format!("cannot write {}: {error}", file.display()));
        }
    }
    Exit::Ok
}

fn could_not(sentence: &str) -> Exit {
    output::note(sentence);
    Exit::CouldNot
}

/// Every page as file name and text, the program's own first.
pub(crate) fn pages() -> io::Result<Vec<(String, String)>> {
    let mut program = args::without_pages();
    program.build();
    let mut pages = vec![page(&program, examples::page("unstall"))?];
    for command in program.get_subcommands().filter(|command| command.get_name() != "help") {
        pages.push(page(command, examples::page(command.get_name()))?);
    }
    Ok(pages)
}

fn page(command: &clap::Command, page: &Page) -> io::Result<(String, String)> {
    let has_subcommands = command.has_subcommands();
    let man = Man::new(command.clone().disable_help_subcommand(true))
        .manual("unstall")
        .source(concat!("unstall ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    examples(page).to_writer(&mut text)?;
    man.render_options_section(&mut text)?;
    if has_subcommands {
        man.render_subcommands_section(&mut text)?;
    }
    exit_codes(page).to_writer(&mut text)?;
    Ok((man.get_filename(), String::from_utf8_lossy(&text).into_owned()))
}

fn examples(page: &Page) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXAMPLES"]);
    for (line, what) in page.examples {
        roff.control("TP", []).text([clap_mangen::roff::bold(*line)]).text([roman(*what)]);
    }
    roff
}

fn exit_codes(page: &Page) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for (code, what) in page.exit_codes {
        roff.control("TP", []).text([roman(code.to_string())]).text([roman(*what)]);
    }
    roff
}
