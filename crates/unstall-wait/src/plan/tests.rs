//! In simulated time.

use super::*;
use std::num::NonZeroU32;

const NOW: Duration = Duration::ZERO;
const COST: Duration = Duration::from_micros(20);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn shown(state: State, local: bool) -> Shown {
    Shown { state, local, cost: COST }
}

fn always(answer: bool) -> impl FnMut(usize) -> bool {
    move |_| answer
}

fn nothing() -> Option<fn(usize) -> bool> {
    None
}

#[test]
fn every_target_is_tried_at_once() {
    let mut plan = Plan::new(&Wait::default(), 2);
    assert_eq!(plan.next(NOW), Action::Try(0));
    assert_eq!(plan.next(NOW), Action::Try(1));
    assert_eq!(plan.next(NOW), Action::Wait(Wait::default().timeout));
}

#[test]
fn a_closed_local_port_is_watched_and_tried_when_the_table_shows_a_listener() {
    let mut plan = Plan::new(&Wait::default(), 1);
    assert_eq!(plan.next(NOW), Action::Try(0));
    assert!(!plan.tried(NOW, 0, shown(State::Free, true)));
    assert_eq!(plan.next(NOW), Action::Look);
    plan.looked(NOW, COST, Some(always(false)));
    assert_eq!(plan.next(NOW), Action::Wait(ms(2)));
    assert_eq!(plan.next(ms(2)), Action::Look);
    plan.looked(ms(2), COST, Some(always(true)));
    assert_eq!(plan.next(ms(2)), Action::Try(0));
    assert!(plan.tried(ms(3), 0, shown(State::Up, true)));
    assert_eq!(plan.next(ms(3)), Action::Done(End::Reached));
}

#[test]
fn the_table_is_doubted_once_a_second() {
    let mut plan = Plan::new(&Wait::default(), 1);
    assert_eq!(plan.next(NOW), Action::Try(0));
    plan.tried(NOW, 0, shown(State::Free, true));
    plan.looked(ms(999), COST, Some(always(false)));
    assert_eq!(plan.next(ms(999)), Action::Wait(ms(1000)));
    assert_eq!(plan.next(ms(1000)), Action::Try(0));
}

#[test]
fn without_a_table_a_local_port_is_tried_quickly() {
    let mut plan = Plan::new(&Wait::default(), 1);
    assert_eq!(plan.next(NOW), Action::Try(0));
    plan.tried(NOW, 0, shown(State::Free, true));
    assert_eq!(plan.next(NOW), Action::Look);
    plan.looked(NOW, COST, nothing());
    assert_eq!(plan.next(NOW), Action::Try(0));
    plan.tried(NOW, 0, shown(State::Free, true));
    assert_eq!(plan.next(NOW), Action::Wait(ms(2)));
}

#[test]
fn another_host_is_tried_with_growing_pauses() {
    let mut plan = Plan::new(&Wait::default(), 1);
    assert_eq!(plan.next(NOW), Action::Try(0));
    plan.tried(NOW, 0, shown(State::Free, false));
    assert_eq!(plan.next(NOW), Action::Wait(ms(10)));
    assert_eq!(plan.next(ms(10)), Action::Try(0));
    plan.tried(ms(10), 0, shown(State::Neither, false));
    assert_eq!(plan.next(ms(10)), Action::Wait(ms(30)));
}

#[test]
fn a_local_server_that_closes_at_once_is_no_matter_of_the_table() {
    let mut plan = Plan::new(&Wait::default(), 1);
    assert_eq!(plan.next(NOW), Action::Try(0));
    plan.tried(NOW, 0, shown(State::Neither, true));
    assert_eq!(plan.next(NOW), Action::Wait(ms(2)));
    assert_eq!(plan.next(ms(2)), Action::Try(0));
}

#[test]
fn stable_wants_successes_in_a_row_an_interval_apart() {
    let wait = Wait { stable: NonZeroU32::new(2).unwrap(), ..Wait::default() };
    let mut plan = Plan::new(&wait, 1);
    assert_eq!(plan.next(NOW), Action::Try(0));
    assert!(!plan.tried(NOW, 0, shown(State::Up, true)));
    assert_eq!(plan.next(NOW), Action::Wait(ms(500)));
    assert_eq!(plan.next(ms(500)), Action::Try(0));
    assert!(!plan.tried(ms(500), 0, shown(State::Neither, false)));
    assert_eq!(plan.next(ms(510)), Action::Try(0));
    assert!(!plan.tried(ms(510), 0, shown(State::Up, false)));
    assert_eq!(plan.next(ms(1010)), Action::Try(0));
    assert!(plan.tried(ms(1010), 0, shown(State::Up, false)));
}

#[test]
fn any_ends_with_the_first_all_with_the_last() {
    for (need, end) in [(Need::Any, true), (Need::All, false)] {
        let mut plan = Plan::new(&Wait { need, ..Wait::default() }, 2);
        assert_eq!((plan.next(NOW), plan.next(NOW)), (Action::Try(0), Action::Try(1)));
        assert!(plan.tried(NOW, 1, shown(State::Up, true)));
        assert_eq!(plan.next(NOW) == Action::Done(End::Reached), end);
    }
}

#[test]
fn free_is_the_reverse_and_silence_is_not_free() {
    let wait = Wait { goal: Goal::Free, ..Wait::default() };
    let mut plan = Plan::new(&wait, 1);
    assert_eq!(plan.next(NOW), Action::Try(0));
    assert!(!plan.tried(NOW, 0, shown(State::Up, true)));
    assert_eq!(plan.next(NOW), Action::Look);
    plan.looked(NOW, COST, Some(always(true)));
    assert_eq!(plan.next(ms(2)), Action::Look);
    plan.looked(ms(2), COST, Some(always(false)));
    assert_eq!(plan.next(ms(2)), Action::Try(0));
    assert!(!plan.tried(ms(2), 0, shown(State::Neither, false)));
    assert_eq!(plan.next(ms(22)), Action::Try(0));
    assert!(plan.tried(ms(22), 0, shown(State::Free, false)));
}

#[test]
fn the_time_limit_ends_it_and_what_could_not_be_tried_is_said() {
    for (state, end) in [(State::Neither, End::TimedOut), (State::Unknown, End::CouldNot)] {
        let mut plan = Plan::new(&Wait::default(), 1);
        assert_eq!(plan.next(NOW), Action::Try(0));
        plan.tried(NOW, 0, shown(state, false));
        assert_eq!(plan.next(Wait::default().timeout), Action::Done(end));
    }
}

#[test]
fn a_thousand_targets_do_not_need_a_thousand_descriptors() {
    let mut plan = Plan::new(&Wait::default(), 1000);
    let started = std::iter::from_fn(|| match plan.next(NOW) {
        Action::Try(id) => Some(id),
        _ => None,
    });
    assert_eq!(started.count(), AT_ONCE);
    plan.tried(NOW, 3, shown(State::Free, true));
    assert_eq!(plan.next(NOW), Action::Try(AT_ONCE));
}
