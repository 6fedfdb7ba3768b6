//! A handler that makes small versions of pictures, and a painter of pictures to try it with.

mod handler;
pub mod picture;

pub use handler::thumbnail;
