//! Package `ouro.arena`, generated from the files in `ouro/arena/v1`.

/// Version 1.
#[expect(
    clippy::allow_attributes,
    clippy::doc_markdown,
    reason = "generated; the comments are in the .proto file"
)]
pub mod v1 {
    include!("../generated/ouro.arena.v1.rs");
}
