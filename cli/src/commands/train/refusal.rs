//! Errors at the start of a run, with the flag or the file to change.

use std::fmt::Display;

use ouro_arena::ArenaError;
use ouro_arena::store::StoreError;
use ouro_learner::LearnerError;
use ouro_service::ServiceError;

use super::plan::Plan;
use crate::failure::Failure;

/// Converts the error of an arena that cannot start.
pub(super) fn of_arena(error: ArenaError, plan: &Plan) -> Failure {
    match error {
        ArenaError::Service(error) => of_service(error, "--arena"),
        ArenaError::Web { address, source } => taken(address, source, "--web ADDR or --web off"),
        ArenaError::Store(StoreError::OtherRun { stored, asked }) => Failure::usage(format_args!(
            "run {0} is one of {stored}, and {0}/run.toml says {asked}; put that back, or choose \
             another --run",
            plan.folder().display()
        )),
        error => Failure::ended(error.exit_status(), error),
    }
}

/// Converts the error of a learner that cannot start.
pub(super) fn of_learner(error: LearnerError, plan: &Plan) -> Failure {
    match error {
        LearnerError::Service(error) => of_service(error, "--learner"),
        LearnerError::OtherRun { what, stored, asked, .. } => Failure::usage(format_args!(
            "run {0} was trained with another {what}, {stored}, than {0}/run.toml says, {asked}; \
             put that back, or choose another --run",
            plan.folder().display()
        )),
        error => Failure::ended(error.exit_status(), error),
    }
}

fn of_service(error: ServiceError, flag: &str) -> Failure {
    match error {
        ServiceError::Bind { address, source } => taken(address, source, flag),
        error => Failure::unavailable(error),
    }
}

/// Error for an address that the process cannot listen on; `flag` sets another one.
fn taken(address: impl Display, source: impl Display, flag: &str) -> Failure {
    Failure::unavailable(format_args!(
        "cannot listen on {address}: {source}; choose another address with {flag}"
    ))
}
