//! Logs.

use crate::support::{House, TENANT, job_id, worker};
use cofferdam_core::ids::LeaseKey;
use cofferdam_core::log::{LogLevel, LogLine};
use cofferdam_store::LogChunk;

fn line(message: impl Into<String>) -> LogLine {
    let fields = vec![("key\0".to_owned(), "value\0".to_owned())];
    LogLine { at_ms: 5, level: LogLevel::Stdout, message: message.into(), fields }
}

#[tokio::test]
async fn a_log_is_read_in_pages_in_the_order_of_its_lines() {
    // Given chunks of two attempts, one of which came twice and one of nobody's job,
    let house = House::new().await;
    let key = house.running(worker()).await;
    let again = LeaseKey { run_lease: 2, ..key };
    let chunk = |key, seq, from: u32, to| LogChunk {
        key,
        attempt: 1,
        seq,
        lines: (from..to).map(|number| line(number.to_string())).collect(),
    };
    let nobodys = LeaseKey { job: job_id(), run_lease: 1 };
    for _ in 0..2 {
        let chunks = [chunk(key, 1, 3, 7), chunk(key, 0, 0, 3), chunk(nobodys, 0, 0, 9)];
        house.store.append_logs(&chunks).await.unwrap();
    }
    house.store.append_logs(&[chunk(again, 0, 7, 10)]).await.unwrap();

    // when it is read two lines at a time,
    let (mut read, mut after) = (Vec::new(), None);
    loop {
        let lines = house.store.logs(TENANT, key.job, after, 2).await.unwrap();
        let Some(last) = lines.last() else { break };
        assert!(lines.len() <= 2);
        after = Some(last.position);
        read.extend(lines.into_iter().map(|line| line.line.message));
    }

    // then each line is there once.
    let expected: Vec<_> = (0..10).map(|number: u32| number.to_string()).collect();
    assert_eq!(read, expected);
}

#[tokio::test]
async fn any_text_can_be_logged() {
    let house = House::new().await;
    let key = house.running(worker()).await;
    let lines = vec![line("nul \0 and \u{1F980}"), line("x".repeat(100_000))];
    house.store.append_logs(&[LogChunk { key, attempt: 1, seq: 0, lines }]).await.unwrap();

    let kept = house.store.logs(TENANT, key.job, None, 10).await.unwrap();
    assert_eq!(kept[0].line.message, "nul \u{fffd} and \u{1F980}");
    assert_eq!(kept[0].line.fields, [("key\u{fffd}".to_owned(), "value\u{fffd}".to_owned())]);
    assert_eq!(kept[1].line.message.len(), 32 * 1024);
}
