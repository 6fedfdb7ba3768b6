//! What a sandbox refuses to start with.

use cofferdam_core::hint::Hint;
use cofferdam_sandbox::{MAX_SLOTS, MAX_THREADS, Sandbox, SandboxSettings, StartError};
use tokio::runtime::Handle;

#[tokio::test]
async fn numbers_past_their_bounds_are_refused_before_anything_starts() {
    // Given settings that no machine can fulfil, when a sandbox is to start with them
    let sized = |slots, threads| {
        let settings = SandboxSettings { slots, threads, ..SandboxSettings::default() };
        Sandbox::start(settings, Handle::current()).unwrap_err()
    };
    // then the error names the number and the bound, and says what to do.
    for slots in [MAX_SLOTS + 1, usize::MAX] {
        let error = sized(slots, 1);
        assert!(matches!(error, StartError::TooManySlots { slots: named } if named == slots));
        assert!(error.to_string().contains("4096") && error.hint().is_some(), "{error}");
    }
    let error = sized(1, MAX_THREADS + 1);
    assert!(matches!(error, StartError::TooManyThreads { threads: 257 }), "{error:?}");
    assert!(error.to_string().contains("256") && error.hint().is_some(), "{error}");
}
