//! What `--help` and the man pages say beside the arguments: more about the command, examples, exit codes.

use crate::exit;
use std::fmt::Write;

/// The words about one command.
#[derive(Debug)]
pub(crate) struct Page {
    name: &'static str,
    /// Further sentences after the first; empty: there is no more to say.
    more: &'static str,
    /// What to type, and what it does.
    pub(crate) examples: &'static [(&'static str, &'static str)],
    /// What the exit codes mean.
    pub(crate) exit_codes: &'static [(u8, &'static str)],
}

const PAGES: &[Page] = &[
    Page {
        name: "unstall",
        more: "",
        examples: &[
            ("unstall doctor", "what stalls on this machine"),
            ("unstall doctor localhost:3000", "what stalls on the way to a server"),
            ("unstall connect localhost:3000", "one connect, every attempt of it"),
            ("unstall explain listens-on-other-address", "what a finding means and how to fix it"),
        ],
        exit_codes: exit::DOCTOR,
    },
    Page {
        name: "doctor",
        more: "Results go to stdout, progress and notes to stderr. Every figure is measured on this machine now, \
               unless it says where it was published. Nothing is changed, and nothing leaves this machine but lookups \
               of names, connects to the targets and a `HEAD / HTTP/1.0` to a target that does not speak first.",
        examples: &[
            ("unstall doctor", "this machine"),
            ("unstall doctor localhost:3000", "a target: its name, each address, who listens, who is slow"),
            ("unstall doctor :3000 [::1]:8080 http://box.lan/", "several targets, in any form"),
            ("unstall doctor --json | jq .findings", "for a program"),
            ("unstall doctor --markdown report.md --junit report.xml", "text here, and two files"),
            ("unstall doctor --redact --html report.html", "a page to show to strangers"),
            ("unstall doctor --compare before.json after.json", "what a change has changed"),
            ("unstall doctor --watch localhost:3000", "one target live, until Ctrl-C"),
            ("unstall doctor --fix --dry-run", "what unstall could put right by itself"),
            ("unstall doctor --fail-on error", "in CI: warnings do not fail"),
        ],
        exit_codes: exit::DOCTOR,
    },
    Page {
        name: "connect",
        more: "Every address is tried as the library tries it: the next one at once after a failure, or after the \
               attempt delay. The connection is closed at once; nothing is sent.",
        examples: &[
            ("unstall connect localhost:3000", "which address answers, how fast, and what the others do"),
            ("unstall connect --timeout 500ms 10.0.0.7:22", "give up after half a second (exit code 124)"),
            ("unstall connect -6 localhost:3000", "IPv6 alone"),
            ("unstall connect -n 100 --every 50ms localhost:3000", "a hundred, and how long they took"),
            ("unstall connect --json :3000 | jq .results[0].attempts", "for a program"),
        ],
        exit_codes: exit::CONNECT,
    },
    Page {
        name: "wait",
        more: "Every address of every target is tried; one that is a server is enough. A name that does not resolve yet is waited \
               for. What accepts and closes at once is no server, nor is a connection to itself. Servers of this host are noticed \
               in the table of listeners within milliseconds, others by tries that become rarer. Every connection is closed.",
        examples: &[
            ("unstall wait localhost:5432 -- npm test", "run the tests when the database listens"),
            ("unstall wait --http /healthz :3000 && curl :3000", "until it answers 200 to 399"),
            ("unstall wait --free 8080 -- ./server", "until the last one is gone"),
            ("unstall wait --any --timeout 2m a.lan:22 b.lan:22", "whichever comes first"),
        ],
        exit_codes: exit::WAIT,
    },
    Page {
        name: "clients",
        more: "Looks for curl, wget, Python, Node, Deno, Bun, PHP, Ruby, Perl, Java, Go, .NET and nc, and runs each before servers of its own \
               on loopback: a closed port by address and by `localhost`, a server on one family alone, a first address that does \
               not answer, and a time limit of its own that is below Windows' refusal. Figures include the program's start-up. Every run \
               is bounded and ends with what it started; proxies of the environment are left out. On Linux programs show what \
               Linux does; in the lab they show what they do under Windows' refusals.",
        examples: &[
            ("unstall clients", "the programs of this machine"),
            ("unstall lab -- unstall clients", "the same under Windows 11's refusals (Linux, emulated)"),
            (
                "unstall clients --client 'curl -m {limit} {url}'",
                "a program of your own, with its own time limit",
            ),
            ("unstall clients --json | jq .results[0].clients", "for a program"),
        ],
        exit_codes: exit::CLIENTS,
    },
    Page {
        name: "run",
        more: "The program and its children are changed in memory, and nothing else is: no file, no setting, no service. Its streams, \
               console, Ctrl-C and exit code are its own. fast-refusal: a local port where nobody listens is refused at once; a \
               server that listens keeps Windows' retry. no-so-error-stall: SO_ERROR after a success is answered from what select or \
               WSAPoll told. Off by default: nodelay (TCP_NODELAY), unspecified-to-loopback (0.0.0.0 and :: as destinations). Not \
               followed: elevated, protected and AppContainer programs.",
        examples: &[
            ("unstall run -- php artisan serve", "with the default fixes"),
            ("unstall run -v -- python manage.py test", "and what that has saved, estimated"),
            ("unstall run --no-fix no-so-error-stall -- npm test", "without one of them"),
            ("unstall run --fix fast-refusal,nodelay -- app.exe", "with these and no others"),
            ("unstall run --report connects.json -- app.exe", "every local connect, for a program"),
        ],
        exit_codes: exit::RUN,
    },
    Page {
        name: "lab",
        more: "The program runs in a network namespace of its own, where only loopback and this host's own addresses exist. \
               It and whatever it starts end with the lab; nothing is left behind. As root the half-second steps of Windows are exact \
               (BPF); as an ordinary user they come in seconds (a user namespace and nft), which is said on stderr. A socket \
               asks for fewer retries by its TTL, hop limit or mark: 254 (mark 0xFE) for none, 201 to 208 (1 to 8) for as many. \
               Nothing is measured on Windows: a profile emulates what others have published.",
        examples: &[
            ("unstall lab -- curl http://127.0.0.1:9/", "refused after 2.02 s, as on Windows 11"),
            ("unstall lab --scenario v4-only -- curl {url}", "a server on one family, reached by name"),
            ("unstall lab --retries 0 -- npm test", "as if every socket had asked for no retry"),
            ("unstall lab --wine -- program.exe", "a Windows program, by Wine"),
            ("unstall lab list", "what profiles and scenarios there are, and their sources"),
            ("unstall lab matrix --client 'curl -s {url}'", "every scenario against a client"),
            ("unstall lab reference", "published figures beside emulated ones"),
            ("unstall lab burst", "300 connects at once: a full accept queue refuses"),
            (
                "unstall lab backlog",
                "full accept queues: the OS default, the ioctl alone and this library side by side",
            ),
        ],
        exit_codes: exit::LAB,
    },
    Page {
        name: "explain",
        more: "Needs no network.",
        examples: &[
            ("unstall explain refused", "an outcome"),
            ("unstall explain --list", "every id there is"),
        ],
        exit_codes: exit::PRINT,
    },
    Page {
        name: "config",
        more: "The file is TOML. Every option that has an environment variable can be set in it, under its long name: above all tables for every \
               command, in a table for one. A flag goes before the environment, the environment before the file.",
        examples: &[
            ("unstall config", "every setting, its value, and where that comes from"),
            ("unstall config --template > ~/.config/unstall/config.toml", "a file to begin with"),
            ("unstall config --path", "which file is read"),
        ],
        exit_codes: exit::PRINT,
    },
    Page {
        name: "completions",
        more: "",
        examples: &[
            ("unstall completions bash > ~/.local/share/bash-completion/completions/unstall", "bash"),
            ("unstall completions fish > ~/.config/fish/completions/unstall.fish", "fish"),
            ("unstall completions powershell >> $PROFILE", "PowerShell"),
        ],
        exit_codes: exit::PRINT,
    },
    Page {
        name: "man",
        more: "",
        examples: &[
            ("unstall man | man -l -", "read it"),
            ("unstall man --out /usr/local/share/man/man1", "install the pages of all commands"),
        ],
        exit_codes: exit::PRINT,
    },
    Page {
        name: "schema",
        more: "",
        examples: &[("unstall schema doctor", "what unstall doctor --json prints")],
        exit_codes: exit::PRINT,
    },
];

/// The page of a command.
///
/// # Panics
/// If the command has none: every command must have one, and a test asks for all of them.
pub(crate) fn page(name: &str) -> &'static Page {
    PAGES.iter().find(|page| page.name == name).unwrap_or_else(|| panic!("{name} has no page in examples.rs"))
}

impl Page {
    /// `. Further sentences.`, to follow the first sentence, which has no full stop of its own.
    pub(crate) fn more(&self) -> String {
        if self.more.is_empty() { String::new() } else { format!(". {}", self.more) }
    }

    /// Each example, with what it does below it.
    pub(crate) fn examples_text(&self) -> String {
        let mut text = "Examples:".to_owned();
        for (line, what) in self.examples {
            let _ = write!(text, "\n  {line}\n      {what}");
        }
        text
    }

    pub(crate) fn exit_codes_text(&self) -> String {
        let mut text = "Exit codes:".to_owned();
        for (code, what) in self.exit_codes {
            let _ = write!(text, "\n  {code:<4} {what}");
        }
        text
    }
}
