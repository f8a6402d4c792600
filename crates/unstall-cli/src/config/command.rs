//! `unstall config`: what is set, where it comes from, and a file to begin with.

use super::settings::{self, Setting};
use super::{Config, usual_path};
use crate::args::{self, Config as Arguments};
use crate::exit::Exit;
use crate::output;
use clap::Command;
use std::env;
use std::fmt::Write;

pub(crate) fn run(arguments: &Arguments, config: Option<&Config>) -> Exit {
    let command = args::command();
    if arguments.template {
        return output::result(&template(&command), Exit::Ok);
    }
    if arguments.path {
        let path = config.map(|config| config.path.clone()).or_else(usual_path);
        let Some(path) = path else {
            output::note(
                "there is no home folder, so there is no usual place for a config file; name one with --config",
            );
            return Exit::CouldNot;
        };
        return output::result(&format!("{}\n", path.display()), Exit::Ok);
    }
    output::result(&effective(&command, config), Exit::Ok)
}

const HEAD: &str = "\
# Settings of unstall: defaults for options of the command line. A flag goes before an environment variable, the variable before this
# file. Settings above the first table are for every command that has the option; a table is for one command.
";

/// A file with every setting, each commented out at its built-in default.
fn template(command: &Command) -> String {
    let mut text = HEAD.to_owned();
    for sub in settings::commands(command) {
        let _ = write!(text, "\n[{}]\n", sub.get_name());
        for setting in settings::of(command, sub) {
            let help = setting.argument.get_help().map(ToString::to_string).unwrap_or_default();
            // Where the help tells the default in words there is no value to show.
            let value =
                setting.default().unwrap_or_else(|| if setting.is_list() { "[]" } else { "\"\"" }.to_owned());
            let _ = write!(text, "\n# {help} ({})\n# {} = {value}\n", setting.variable, setting.key);
        }
    }
    text
}

/// Every setting with its value and where that comes from.
fn effective(command: &Command, config: Option<&Config>) -> String {
    let mut text = config.map_or_else(
        || "# there is no config file\n".to_owned(),
        |config| format!("# config file: {}\n", config.path.display()),
    );
    for sub in settings::commands(command) {
        let _ = write!(text, "\n[{}]\n", sub.get_name());
        for setting in settings::of(command, sub) {
            let (value, source) = source(&setting, sub, config);
            let _ = writeln!(text, "{} = {value} # {source}", setting.key);
        }
    }
    text
}

fn source(setting: &Setting<'_>, sub: &Command, config: Option<&Config>) -> (String, String) {
    let quoted = |value: &str| if setting.is_switch() { value.to_owned() } else { format!("{value:?}") };
    if let Ok(value) = env::var(setting.variable) {
        return (quoted(&value), format!("environment: {}", setting.variable));
    }
    if let Some(value) = config.and_then(|config| config.value(sub.get_name(), setting.key)) {
        return (quoted(value), "file".to_owned());
    }
    (setting.default().unwrap_or_else(|| "\"\"".to_owned()), "default".to_owned())
}

#[cfg(test)]
mod tests {
    use super::template;
    use crate::args;
    use crate::config::Config;
    use std::path::PathBuf;

    #[test]
    fn the_template_is_a_config_and_so_is_every_default_in_it() {
        let command = args::command();
        let text = template(&command);
        insta::assert_snapshot!("template", text);
        Config::parse(PathBuf::from("c.toml"), &text, &command).expect("a config");
        let uncommented: String = text
            .lines()
            .filter(|line| !line.ends_with("\"\"") && !line.ends_with("[]"))
            .map(|line| match line.strip_prefix("# ").filter(|rest| rest.contains(" = ")) {
                Some(setting) => format!("{setting}\n"),
                None => format!("{line}\n"),
            })
            .collect();
        Config::parse(PathBuf::from("c.toml"), &uncommented, &command).expect("the defaults are values");
    }
}
