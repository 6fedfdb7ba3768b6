//! The guards of the protocol, each of which can be left out to see what it prevents.

/// One guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Guard {
    /// An outcome is written only under the lease it was made under.
    FinishFenced = 1,
    /// A beat renews only the lease that it names.
    BeatFenced = 1 << 1,
    /// A worker kills an attempt whose lease may count as stale.
    SelfFence = 1 << 2,
    /// A guest's thread looks at the lease before the guest gets a turn, and does not wait for the
    /// loop that looks at all leases now and then.
    FenceBeforeTurn = 1 << 3,
    /// A lease is good from before the beat was sent, not from when its answer came.
    FenceFromSent = 1 << 4,
    /// A rescue reads and writes in one transaction.
    RescueInOneTransaction = 1 << 5,
    /// What a rescue writes matches the lease that it read.
    RescueFenced = 1 << 6,
    /// Of two claims of one row one gets nothing.
    ClaimExclusive = 1 << 7,
    /// A cancel of a running job is written down before anybody is told.
    DurableCancel = 1 << 8,
    /// A rescue counts against the crash budget.
    CrashBudget = 1 << 9,
    /// The fast path takes the leases of processes that are dead, and of no others.
    GoneMeansDead = 1 << 10,
    /// Leases whose heartbeat is stale are rescued, whatever else is known about the worker.
    StaleRescue = 1 << 11,
}

/// Those guards that are in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guards(u16);

impl Guards {
    /// The protocol as it is.
    pub const ALL: Self = Self(u16::MAX);

    /// Leaves one out.
    #[must_use]
    pub const fn without(self, guard: Guard) -> Self {
        Self(self.0 & !(guard as u16))
    }

    /// Whether the guard is in place.
    pub const fn has(self, guard: Guard) -> bool {
        self.0 & guard as u16 != 0
    }
}
