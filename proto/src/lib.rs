//! The wire protocol: generated gRPC code, and its conversion to validated domain types.
//!
//! Services implement the traits under [`arena::v1`] and [`learner::v1`]. All other code uses the
//! domain types of [`checkpoint`] and the other modules here. Conversion from the wire validates;
//! conversion to the wire cannot fail.

pub mod arena_client;
pub mod checkpoint;
pub mod chunks;
pub mod matches;
pub mod news;
pub mod pool;
pub mod push;
pub mod trajectory;

pub use arena_client::ArenaClient;
pub use checkpoint::{Checkpoint, CheckpointStatus};
pub use push::RefusedGame;
pub use trajectory::{ActorId, Hello};

/// Package `ouro.arena`, generated from the files in `ouro/arena/v1`.
pub mod arena {
    /// Version 1.
    #[expect(
        clippy::allow_attributes,
        clippy::doc_markdown,
        reason = "generated; the comments are in the .proto file"
    )]
    pub mod v1 {
        tonic::include_proto!("ouro.arena.v1");
    }
}

/// Package `ouro.learner`, generated from `ouro/learner/v1/learner.proto`.
pub mod learner {
    /// Version 1.
    #[expect(clippy::allow_attributes, reason = "generated; the comments are in the .proto file")]
    pub mod v1 {
        tonic::include_proto!("ouro.learner.v1");
    }
}

/// An encoded `FileDescriptorSet` of all services and messages, for gRPC reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("ouro");
