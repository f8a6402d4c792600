//! What connects do by default, in words that are the same each time: built without features and with all of them, and compared.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;
use unstall::{Connector, Target};

fn main() {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let open = server.local_addr().expect("an address");
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr()).expect("an address");
    println!("{:?}", Connector::new());
    let connectors = [Connector::new(), Connector::new().connect_timeout(Duration::from_secs(10))];
    for (n, connector) in connectors.iter().enumerate() {
        let targets = [
            ("an open port", open.to_string()),
            ("an open port of localhost", format!("localhost:{}", open.port())),
            ("a closed port", closed.to_string()),
            ("a closed port of localhost", format!("localhost:{}", closed.port())),
            ("a name that nobody has", "no-such-name.invalid:1".to_owned()),
        ];
        for (what, target) in targets {
            let target: Target = target.parse().expect("a target");
            let (result, timeline) = connector.connect_timeline(&target);
            let nodelay = result.map(|stream| stream.nodelay().ok()).map_err(|error| error.kind());
            println!("{n} {what}: {nodelay:?} {:?}", timeline.outcome);
            for attempt in &timeline.attempts {
                println!("  {} {} {:?}", attempt.address.ip(), attempt.reason.id(), attempt.outcome);
            }
        }
        println!("{n} nonsense: {:?}", connector.connect("nonsense").map(drop).map_err(|error| error.kind()));
    }
}
