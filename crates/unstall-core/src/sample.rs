//! A series of measurements: percentiles, modes, and which stall its figures point to.
