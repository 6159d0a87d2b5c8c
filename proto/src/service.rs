//! Package `ouro.service`, generated from `ouro/service/v1/process.proto`.

/// Version 1.
pub mod v1 {
    include!("../generated/ouro.service.v1.rs");
}
