//! Package `ouro.service`, generated from `ouro/service/v1/process.proto`.

/// Version 1.
#[expect(clippy::allow_attributes, reason = "generated; the comments are in the .proto file")]
pub mod v1 {
    include!("../generated/ouro.service.v1.rs");
}
