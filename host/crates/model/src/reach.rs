//! Whether an end can be reached from everywhere.
//!
//! stateright's `eventually` does not see a run that goes round in a circle, and heartbeats do.
//! So this builds the whole graph and looks backwards from the ends, over the steps that happen
//! without bad luck: as the graph is finite, a run that takes each step that is possible again and
//! again reaches an end if and only if there is a way to one from every state.

use crate::model::Protocol;
use crate::state::State;
use stateright::Model;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// What was found.
#[derive(Debug)]
pub struct Reach {
    /// How many states there are.
    pub states: usize,
    /// In how many of them every job has ended.
    pub ends: usize,
    /// One of those from which no end can be reached without faults and operators.
    pub stuck: Option<State>,
}

/// Looks at every state of a model.
pub fn reach_ends(model: &Protocol) -> Reach {
    let mut states = model.init_states();
    let mut numbers: HashMap<State, u32> = HashMap::new();
    for (number, state) in (0..).zip(&states) {
        numbers.insert(*state, number);
    }
    // For each step that is fair: where it leads to, and where it comes from.
    let mut backwards: Vec<(u32, u32)> = Vec::new();
    let mut actions = Vec::new();
    let mut at = 0;
    while let Some(&state) = states.get(at) {
        model.actions(&state, &mut actions);
        for action in actions.drain(..) {
            let Some(after) = model.next_state(&state, action) else { continue };
            let next = count(states.len());
            let to = match numbers.entry(after) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    states.push(after);
                    *new.insert(next)
                }
            };
            if action.is_fair() {
                backwards.push((to, count(at)));
            }
        }
        at += 1;
    }
    drop(numbers);
    backwards.sort_unstable();

    let mut reached: Vec<bool> = states.iter().map(State::all_ended).collect();
    let mut todo: Vec<u32> =
        (0..).zip(&reached).filter_map(|(number, end)| end.then_some(number)).collect();
    let ends = todo.len();
    while let Some(to) = todo.pop() {
        let start = backwards.partition_point(|edge| edge.0 < to);
        let into = backwards[start..].iter().take_while(|edge| edge.0 == to);
        for &(_, from) in into {
            let seen = &mut reached[from as usize];
            if !*seen {
                *seen = true;
                todo.push(from);
            }
        }
    }
    let stuck = states.iter().zip(&reached).find_map(|(state, end)| (!end).then_some(*state));
    Reach { states: states.len(), ends, stuck }
}

fn count(states: usize) -> u32 {
    u32::try_from(states).unwrap_or(u32::MAX)
}
