//! The coarse engine: nft rules alone, for a user namespace. Steps of a second, which is Linux' own SYN timer.
//!
//! A dynamic set counts the RSTs of each flow: below the limit they are dropped, then they pass. It is keyed by both
//! addresses and ports, and its entries last longer than the longest retry and not much longer: a port that is used again must
//! start afresh.

use super::plan::{Facts, Plan, timers_for};
use crate::error::Error;
use crate::opt_out;
use crate::profile::{Prefix, Profile, QueueAnswer};
use crate::schedule::{Limits, Schedule};
use std::fmt::Write as _;

/// Longer than a step: the time of a flow's entry starts anew with each RST.
const ENTRY: &str = "5s";

pub(super) fn plan(profile: &Profile, facts: &Facts) -> Result<Plan, Error> {
    let mut plan = Plan::default();
    if let Some(timers) = timers_for(profile)? {
        let schedule = Schedule::coarse(profile.refused.as_ref(), profile.unanswered.as_ref(), timers);
        plan.retransmit(&schedule);
        if profile.refused.is_some() {
            if schedule.retries.is_some() {
                plan.reflect_marks(facts.ipv6);
            }
            plan.rules = rules(schedule.retries.as_ref(), facts.destinations.prefixes());
        }
    }
    if let Some(queue) = &profile.full_queue {
        // Not every kernel lets a user namespace set it.
        let otherwise = format!("accept queues keep this system's limit instead of {}", queue.longest);
        plan.try_set("core/somaxconn", queue.longest, otherwise);
        if queue.answer == QueueAnswer::Reset {
            plan.notes.push(
                "the coarse engine does not answer for a full accept queue: Linux drops the SYN".to_owned(),
            );
        }
    }
    Ok(plan)
}

/// The rules for `nft -f`. `limits`: `None` for RSTs that never arrive; `destinations`: `None` for any.
fn rules(limits: Option<&Limits>, destinations: Option<&[Prefix]>) -> String {
    let mut text = String::from("table inet unstall {\n");
    if let Some(limits) = limits {
        for count in counts(limits) {
            text += &hold(count);
        }
        text += &opt_out_chain();
    }
    text += "  chain refusals {\n    type filter hook input priority 0; policy accept;\n";
    // The RST that answers a SYN has the sequence number 0; one that ends a connection has not.
    text += "    tcp flags & rst != rst accept\n    tcp sequence != 0 accept\n";
    if let Some(prefixes) = destinations {
        text += &only_from("ip", prefixes.iter().filter(|prefix| prefix.address().is_ipv4()));
        text += &only_from("ip6", prefixes.iter().filter(|prefix| prefix.address().is_ipv6()));
    }
    match limits {
        Some(limits) => text += &by_mark(limits),
        None => text += "    drop\n",
    }
    text + "  }\n}\n"
}

/// The different limits, but 0.
fn counts(limits: &Limits) -> Vec<u32> {
    let mut counts: Vec<u32> = limits.asked.into_iter().chain([limits.default, limits.none]).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.retain(|count| *count > 0);
    counts
}

/// A chain that drops the first `count` RSTs of each flow, with the sets that count them.
fn hold(count: u32) -> String {
    let mut text = String::new();
    for family in ["ip", "ip6"] {
        let _ = write!(
            text,
            "  set {family}_{count} {{\n    typeof {family} saddr . tcp sport . {family} daddr . tcp dport\n    \
             flags dynamic,timeout\n    timeout {ENTRY}\n    size 65535\n  }}\n"
        );
    }
    let _ = writeln!(text, "  chain hold_{count} {{");
    for family in ["ip", "ip6"] {
        let _ = writeln!(
            text,
            "    update @{family}_{count} {{ {family} saddr . tcp sport . {family} daddr . tcp dport \
             limit rate over 1/hour burst {count} packets }} accept"
        );
    }
    text + "    drop\n  }\n"
}

/// A TTL or hop limit that stands for a number of retries becomes its mark; see [`crate::opt_out`].
fn opt_out_chain() -> String {
    let asked =
        (1..=opt_out::MOST_RETRIES).map(|retries| format!("{} : {retries}", opt_out::TTL_BASE + retries));
    let map = asked
        .chain([format!("{} : {}", opt_out::TTL_NONE, opt_out::MARK_NONE)])
        .collect::<Vec<_>>()
        .join(", ");
    format!(
        "  chain opt_out {{\n    type filter hook output priority -150; policy accept;\n    meta mark != 0 accept\n    \
         meta l4proto != tcp accept\n    meta mark set ip ttl map {{ {map} }}\n    meta mark set ip6 hoplimit map {{ {map} }}\n  }}\n"
    )
}

/// Refusals from elsewhere are left alone.
fn only_from<'a>(family: &str, prefixes: impl Iterator<Item = &'a Prefix>) -> String {
    let prefixes: Vec<String> = prefixes.map(ToString::to_string).collect();
    let protocol = if family == "ip" { "ipv4" } else { "ipv6" };
    if prefixes.is_empty() {
        format!("    meta nfproto {protocol} accept\n")
    } else {
        format!("    {family} saddr != {{ {} }} accept\n", prefixes.join(", "))
    }
}

/// To the chain for the socket's limit, by the mark's low byte.
fn by_mark(limits: &Limits) -> String {
    let verdict = |count: u32| if count == 0 { "accept".to_owned() } else { format!("goto hold_{count}") };
    let asked = (1..).zip(limits.asked).map(|(mark, count)| format!("{mark} : {}", verdict(count)));
    let none = [format!("{} : {}", opt_out::MARK_NONE, verdict(limits.none))];
    let map = asked.chain(none).collect::<Vec<_>>().join(", ");
    format!("    meta mark & 0xff vmap {{ {map} }}\n    {}\n", verdict(limits.default))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_windows_11() {
        let limits = Limits { default: 2, none: 0, asked: [1, 1, 1, 2, 2, 3, 3, 4] };
        insta::assert_snapshot!(rules(Some(&limits), None));
    }

    #[test]
    fn the_rules_of_lost_resets() {
        let prefixes = ["127.0.0.1", "192.0.2.0/24"].map(|text| text.parse().expect("a prefix"));
        insta::assert_snapshot!(rules(None, Some(&prefixes)));
    }
}
