//! Waiting for a condition, with a bound.

use std::time::{Duration, Instant};

/// Between two looks.
const EVERY: Duration = Duration::from_millis(10);

/// Looks until `look` answers with a value, and returns it. What it answers meanwhile says why it
/// is not so yet; the last answer is in the panic when the time is up.
pub async fn wait_for<T>(
    what: &str,
    bound: Duration,
    mut look: impl AsyncFnMut() -> Result<T, String>,
) -> T {
    let start = Instant::now();
    loop {
        match look().await {
            Ok(value) => return value,
            Err(last) if start.elapsed() >= bound => {
                panic!("waited {} ms for {what}, and still {last}", bound.as_millis())
            }
            Err(_) => tokio::time::sleep(EVERY).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_looks_until_the_condition_holds() {
        let mut looks = 0;
        let found = wait_for("three looks", Duration::from_secs(10), async || {
            looks += 1;
            if looks == 3 { Ok("there") } else { Err(format!("{looks} looks")) }
        })
        .await;
        assert_eq!(found, "there");
    }

    #[tokio::test]
    #[should_panic(expected = "waited 1 ms for a miracle, and still nothing happened")]
    async fn the_last_state_is_in_the_panic() {
        wait_for("a miracle", Duration::from_millis(1), async || {
            Err::<(), _>("nothing happened".to_owned())
        })
        .await;
    }
}
