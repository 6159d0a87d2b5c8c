//! tmp
pub mod config;
pub mod device;
pub mod loss;
pub mod model;
pub mod optimizer;
pub mod reinforce;
pub mod samples;
pub mod trainer;
pub mod trajectory;
