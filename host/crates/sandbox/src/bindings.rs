//! The guest contract in Rust, generated from `wit/`.

mod generated {
    wasmtime::component::bindgen!({
        path: "../../../wit",
        world: "handler-full",
        imports: {
            // These reach the caller, which may take its time.
            "cofferdam:job/control.checkpoint": async | trappable,
            "cofferdam:job/control.extend-deadline": async | trappable,
            "cofferdam:job/secrets.get": async | trappable,
            "cofferdam:job/secrets.placeholder": async | trappable,
            default: trappable,
        },
        exports: { default: async },
    });
}

pub(crate) use generated::cofferdam::job::types::{
    self, JobError, JobInfo as GuestJobInfo, KindInfo as KindDescription, RetryAdvice,
};
pub(crate) use generated::cofferdam::job::{control, jobs, log, secrets};
pub(crate) use generated::{HandlerFull as Handler, HandlerFullPre as HandlerPre};
