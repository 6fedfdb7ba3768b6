//! A handler that adds up a CSV file of orders, and a generator of such files.

mod generate;
mod handler;
mod report;

pub use generate::{Order, generate, orders};
pub use handler::csv_report;
pub use report::{Region, Report};
