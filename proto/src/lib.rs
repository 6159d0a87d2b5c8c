//! The wire protocol: generated gRPC code, and its conversion to validated domain types.
//!
//! Services implement the traits under [`arena::v1`] and [`learner::v1`]. All other code uses the
//! domain types of [`checkpoint`] and the other modules here. Conversion from the wire validates;
//! conversion to the wire cannot fail.

pub mod arena;
pub mod arena_client;
pub mod checkpoint;
pub mod chunks;
pub mod credential;
pub mod learner;
pub mod matches;
pub mod news;
pub mod pool;
pub mod process;
pub mod push;
pub mod service;
pub mod status;
pub mod text;
pub mod trajectory;

pub use arena_client::ArenaClient;
pub use checkpoint::{Checkpoint, CheckpointStatus};
pub use credential::Credential;
pub use process::{AccessReport, ProcessReport, RoleTokens};
pub use push::RefusedGame;
pub use status::{
    ArenaReport, ConnectedActor, DeviatingActor, DeviceKind, LearnerReport, StatusClient,
};
pub use trajectory::{ActorId, Hello};

/// An encoded `FileDescriptorSet` of all services and messages, for gRPC reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("../generated/ouro.bin");
