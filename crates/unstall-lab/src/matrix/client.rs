//! Clients: command lines with placeholders, and the ones that are known and installed.

use crate::error::Error;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// A program that connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// What tables call it.
    pub name: String,
    /// Its command line, with `{url}`, `{host}`, `{port}` or `{target}` where the target goes.
    pub words: Vec<OsString>,
}

/// A row of the table of known clients.
struct Known {
    name: &'static str,
    /// The program that must be in `PATH`.
    program: &'static str,
    arguments: &'static [&'static str],
}

const fn known(name: &'static str, program: &'static str, arguments: &'static [&'static str]) -> Known {
    Known { name, program, arguments }
}

const PYTHON_SOCKET: &str = "import socket,sys
s=socket.create_connection((sys.argv[1],int(sys.argv[2])))
s.sendall(b'HEAD / HTTP/1.0\\r\\n\\r\\n')
sys.exit(0 if s.recv(1) else 'empty reply')";

const PYTHON_ASYNCIO: &str = "import asyncio,sys
async def main():
    r,w=await asyncio.open_connection(sys.argv[1],int(sys.argv[2]),happy_eyeballs_delay=0.25)
    w.write(b'HEAD / HTTP/1.0\\r\\n\\r\\n')
    sys.exit(0 if await r.read(1) else 'empty reply')
asyncio.run(main())";

const NODE_FETCH: &str = "fetch(process.argv[1]).then(r=>r.text()).catch(e=>{
const c=e.cause||e;console.error(c.code||(c.errors||[])[0]?.code||c.message);process.exit(1)})";

const NODE_NET: &str = "const s=require('net').connect(+process.argv[2],process.argv[1]);
s.on('connect',()=>s.write('HEAD / HTTP/1.0\\r\\n\\r\\n'));
s.on('data',()=>process.exit(0));
s.on('end',()=>{console.error('empty reply');process.exit(1)});
s.on('error',e=>{console.error(e.code||(e.errors||[])[0]?.code);process.exit(1)})";

const PERL: &str = "use IO::Socket::IP;
my $s=IO::Socket::IP->new(PeerHost=>$ARGV[0],PeerPort=>$ARGV[1]) or die \"$@\\n\";
print $s \"HEAD / HTTP/1.0\\r\\n\\r\\n\";$s->flush;
defined(my $l=<$s>) or die \"empty reply\\n\";";

const PHP: &str = "$s=@stream_socket_client('tcp://'.(strpos($argv[1],':')!==false?'['.$argv[1].']':$argv[1]).':'.$argv[2],$n,$e);
if(!$s){fwrite(STDERR,\"$e\\n\");exit(1);}
fwrite($s,\"HEAD / HTTP/1.0\\r\\n\\r\\n\");
if(fgets($s)===false){fwrite(STDERR,\"empty reply\\n\");exit(1);}";

const RUBY: &str = "require 'socket'
begin
s=TCPSocket.new(ARGV[0],ARGV[1].to_i);s.write(\"HEAD / HTTP/1.0\\r\\n\\r\\n\");s.gets or abort 'empty reply'
rescue SystemCallError,SocketError=>e
abort e.message
end";

/// The clients that are known. What a client is asked is a request of HTTP, so that an answer tells that a server is there.
const KNOWN: &[Known] = &[
    // Without -v, curl 7 does not tell a refusal from an unreachable host.
    known("curl", "curl", &["-sSv", "-o", "/dev/null", "{url}"]),
    known("wget", "wget", &["-nv", "-t1", "-O", "/dev/null", "{url}"]),
    known("python socket", "python3", &["-c", PYTHON_SOCKET, "{host}", "{port}"]),
    known(
        "python urllib",
        "python3",
        &["-c", "import sys,urllib.request as u;u.urlopen(sys.argv[1]).read()", "{url}"],
    ),
    known("python asyncio he", "python3", &["-c", PYTHON_ASYNCIO, "{host}", "{port}"]),
    known("node fetch", "node", &["-e", NODE_FETCH, "{url}"]),
    known("node net", "node", &["-e", NODE_NET, "{host}", "{port}"]),
    known("php stream", "php", &["-r", PHP, "{host}", "{port}"]),
    known("perl", "perl", &["-e", PERL, "{host}", "{port}"]),
    known("ruby", "ruby", &["-e", RUBY, "{host}", "{port}"]),
    known("nc", "nc", &["-z", "-v", "{host}", "{port}"]),
];

/// The known clients that are installed, and this program itself.
pub fn installed() -> Vec<Client> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = |program: &str| std::env::split_paths(&path).any(|folder| is_program(&folder.join(program)));
    let mut clients: Vec<Client> = KNOWN
        .iter()
        .filter(|known| there(known.program))
        .map(|known| Client {
            name: known.name.to_owned(),
            words: [known.program].iter().chain(known.arguments).map(Into::into).collect(),
        })
        .collect();
    clients.extend(this_program());
    clients
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// `unstall connect`, where this process is `unstall`.
fn this_program() -> Option<Client> {
    let program = std::env::current_exe().ok()?;
    (program.file_stem()? == "unstall").then(|| Client {
        name: "unstall".to_owned(),
        words: [program.as_os_str(), OsStr::new("connect"), OsStr::new("{target}")].map(Into::into).into(),
    })
}

impl Client {
    /// A client from a command line such as `curl -s {url}`, quoted as for a shell. It is called by that line; with
    /// `NAME=` in front, by that name.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for an empty command, one whose quotes do not match, or one without a placeholder.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (name, command) = named(text).unwrap_or((text.trim(), text));
        let usage = |what: &str| {
            Error::Usage(format!("--client '{text}': {what}; write for example --client 'curl -s {{url}}'"))
        };
        let words = shlex::split(command).ok_or_else(|| usage("a quote is not closed"))?;
        if words.is_empty() {
            return Err(usage("there is no command"));
        }
        let has_place =
            |word: &String| ["{url}", "{host}", "{port}", "{target}"].iter().any(|name| word.contains(name));
        if !words.iter().any(has_place) {
            return Err(usage("it has no {url}, {host}, {port} or {target}"));
        }
        Ok(Self { name: name.to_owned(), words: words.into_iter().map(Into::into).collect() })
    }

    /// The program's name, without its path.
    pub(super) fn program(&self) -> &str {
        self.words.first().and_then(|word| Path::new(word).file_name()?.to_str()).unwrap_or_default()
    }
}

/// `name=command`, if the part before the sign is a plain name.
fn named(text: &str) -> Option<(&str, &str)> {
    let (name, command) = text.split_once('=')?;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '_');
    (!name.trim().is_empty() && name.chars().all(plain) && !command.trim().is_empty() && !name.contains(" -"))
        .then_some((name.trim(), command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_split_as_a_shell_would() {
        let client = Client::parse("curl -H 'a: b' {url}").expect("a client");
        assert_eq!(client.words, ["curl", "-H", "a: b", "{url}"].map(OsString::from));
        assert_eq!((&*client.name, client.program()), ("curl -H 'a: b' {url}", "curl"));
        let named = Client::parse("old curl=/opt/curl/bin/curl {url}").expect("a client");
        assert_eq!((&*named.name, named.program()), ("old curl", "curl"));
        let option = Client::parse("nc --a=b {host} {port}").expect("a client");
        assert_eq!(option.words.len(), 4, "an option is no name");
    }

    #[test]
    fn what_is_no_client_is_told() {
        for (text, words) in
            [("", "no command"), ("curl 'x {url}", "quote"), ("curl http://localhost/", "no {url}")]
        {
            let error = Client::parse(text).expect_err("no client");
            assert!(error.to_string().contains(words), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }

    #[test]
    fn every_known_client_is_told_where_to_go() {
        for known in KNOWN {
            assert!(known.arguments.iter().any(|argument| argument.contains('{')), "{}", known.name);
        }
    }
}
