//! How many system calls one connect makes: this program runs itself under strace, without and with connects.

use std::collections::BTreeMap;
use std::process::Command;

/// Set in the traced program: how many connects it makes.
const CONNECTS: &str = "UNSTALL_TRACED_CONNECTS";
/// Calls that happen less often than once in so many connects belong to the program, not to the connects.
const MANY: u32 = 500;

/// How many connects the traced program is to make; `None`: this is not the traced program.
pub(crate) fn connects_wanted() -> Option<u32> {
    std::env::var(CONNECTS).ok()?.parse().ok()
}

/// System calls per connect by name, `close` included. `arguments` make this program do what [`connects_wanted`] says.
///
/// # Errors
/// Why strace gave no figures, in words.
pub(crate) fn per_connect(
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<BTreeMap<String, u32>, String> {
    let without = trace(0, arguments, variables)?;
    let mut calls = trace(MANY, arguments, variables)?;
    for (name, count) in &mut calls {
        let extra = count.saturating_sub(without.get(name).copied().unwrap_or(0));
        *count = (extra + MANY / 2) / MANY;
    }
    calls.retain(|_, count| *count > 0);
    Ok(calls)
}

fn trace(
    connects: u32,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<BTreeMap<String, u32>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-U", "calls,name"]).arg(program).args(arguments);
    strace.env(CONNECTS, connects.to_string()).envs(variables.iter().copied());
    let output = strace.output().map_err(|error| format!("strace: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("strace: {}", text.lines().next().unwrap_or("failed")));
    }
    let row = |line: &str| {
        let (count, name) = line.trim().split_once(' ')?;
        Some((name.trim().to_owned(), count.parse().ok()?))
    };
    Ok(text.lines().filter_map(row).filter(|(name, _)| name != "total").collect())
}

/// `close connect setsockopt socket`, with `n x` before what happens more than once.
pub(crate) fn listed(calls: &BTreeMap<String, u32>) -> String {
    let one =
        |(name, count): (&String, &u32)| if *count == 1 { name.clone() } else { format!("{count} x {name}") };
    calls.iter().map(one).collect::<Vec<_>>().join(" ")
}
