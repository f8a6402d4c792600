//! The attempts of a timeline: a list that does not allocate while it is short, as nearly all are.

use super::Attempt;
use smallvec::SmallVec;
use std::ops::{Deref, DerefMut};

/// The attempts of a [`Timeline`](super::Timeline), in the order in which they started. It is a slice, and made from a `Vec` or an
/// iterator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Attempts(SmallVec<[Attempt; 2]>);

impl Attempts {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the one that started last.
    pub fn push(&mut self, attempt: Attempt) {
        self.0.push(attempt);
    }
}

impl Deref for Attempts {
    type Target = [Attempt];

    fn deref(&self) -> &[Attempt] {
        &self.0
    }
}

impl DerefMut for Attempts {
    fn deref_mut(&mut self) -> &mut [Attempt] {
        &mut self.0
    }
}

impl From<Vec<Attempt>> for Attempts {
    fn from(attempts: Vec<Attempt>) -> Self {
        Self(SmallVec::from_vec(attempts))
    }
}

impl From<Attempt> for Attempts {
    fn from(attempt: Attempt) -> Self {
        let mut attempts = Self::new();
        attempts.push(attempt);
        attempts
    }
}

impl FromIterator<Attempt> for Attempts {
    fn from_iter<I: IntoIterator<Item = Attempt>>(attempts: I) -> Self {
        Self(attempts.into_iter().collect())
    }
}

impl IntoIterator for Attempts {
    type Item = Attempt;
    type IntoIter = std::vec::IntoIter<Attempt>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a Attempts {
    type Item = &'a Attempt;
    type IntoIter = std::slice::Iter<'a, Attempt>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
