//! Package `ouro.learner`, generated from `ouro/learner/v1/learner.proto`.

/// Version 1.
#[expect(clippy::allow_attributes, reason = "generated; the comments are in the .proto file")]
pub mod v1 {
    include!("../generated/ouro.learner.v1.rs");
}
