//! Jobs that do real work, and what each result must be.

use super::platform::Platform;
use super::{Row, field, same};
use crate::{shell, workspace};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

/// How many commands fetch results at once.
const FETCHERS: usize = 4;

/// Jobs of one kind.
pub(crate) struct Batch {
    what: &'static str,
    checked: &'static str,
    inputs: Vec<Input>,
}

/// Says whether a result is right.
type Check = Box<dyn Fn(&[u8]) -> Result<()> + Send + Sync>;

/// One input, how often it is submitted, and what must come of it.
struct Input {
    file: PathBuf,
    options: Vec<&'static str>,
    count: usize,
    check: Check,
}

/// Four kinds, and 520 jobs in all. Inputs are made, or are the project's own documents.
pub(crate) fn batches(folder: &Path) -> Result<Vec<Batch>> {
    Ok(vec![thumbnails(folder)?, pages()?, reports(folder)?, words()?])
}

fn thumbnails(folder: &Path) -> Result<Batch> {
    let mut inputs = Vec::new();
    for (seed, name) in [("1", "landscape.png"), ("2", "landscape.jpeg")] {
        let file = folder.join(name);
        let mut cargo = workspace::cargo();
        cargo.args(["run", "--quiet", "--package", "thumbnail", "--example", "picture", "--"]);
        shell::run(cargo.args([seed, "640", "480"]).arg(&file))?;
        inputs.push(Input {
            file,
            options: vec!["--metadata", "width=160", "--metadata", "height=160"],
            count: 30,
            check: Box::new(|png| {
                same("the start of a PNG", &png.get(..8), &Some(b"\x89PNG\r\n\x1a\n".as_slice()))?;
                let side = |at: usize| {
                    let bytes = png.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
                    bytes.map(u32::from_be_bytes)
                };
                same("its width and height", &(side(16), side(20)), &(Some(160), Some(120)))
            }),
        });
    }
    Ok(Batch { what: "thumbnail", checked: "PNG of 160x120 from PNG and JPEG of 640x480", inputs })
}

fn pages() -> Result<Batch> {
    let data = workspace::root().join("examples/markdown/tests/data");
    let html = std::fs::read(data.join("handbook.html"))?;
    let inputs = vec![Input {
        file: data.join("handbook.md"),
        options: Vec::new(),
        count: 160,
        check: Box::new(move |page| {
            ensure!(page == html, "the page is not the one in handbook.html");
            Ok(())
        }),
    }];
    Ok(Batch { what: "markdown", checked: "HTML equal to handbook.html", inputs })
}

fn reports(folder: &Path) -> Result<Batch> {
    let mut inputs = Vec::new();
    for seed in ["1", "2", "3", "4"] {
        let mut cargo = workspace::cargo();
        cargo.args(["run", "--quiet", "--package", "csv-report", "--example", "generate", "--"]);
        let csv = shell::read(cargo.args([seed, "10000"]))?;
        let total = total_cents(&csv)?;
        let file = folder.join(format!("orders-{seed}.csv"));
        std::fs::write(&file, &csv)?;
        inputs.push(Input {
            file,
            options: Vec::new(),
            count: 25,
            check: Box::new(move |report| {
                let report: serde_json::Value = serde_json::from_slice(report)?;
                same("rows", &field(&report, "rows")?.as_u64(), &Some(10_000))?;
                same("total_cents", &field(&report, "total_cents")?.as_u64(), &Some(total))
            }),
        });
    }
    Ok(Batch { what: "csv-report", checked: "10,000 rows each, rows and total", inputs })
}

/// The sum of the last column, which is never quoted.
fn total_cents(csv: &str) -> Result<u64> {
    let mut total = 0;
    for row in csv.lines().skip(1) {
        let amount = row.rsplit(',').next().context("a row without columns")?;
        total += amount.replace('.', "").parse::<u64>().context("an amount that is no number")?;
    }
    Ok(total)
}

fn words() -> Result<Batch> {
    let mut inputs = Vec::new();
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let file = workspace::root().join(name);
        let words = count_words(&std::fs::read_to_string(&file)?);
        inputs.push(Input {
            file,
            options: vec!["--arg=--top", "--arg=3"],
            count: 50,
            check: Box::new(move |count| {
                let count: serde_json::Value = serde_json::from_slice(count)?;
                ensure!(
                    field(&count, "words")?.as_u64().is_some_and(|found| found > 0),
                    "no words"
                );
                same("words", &field(&count, "words")?.as_u64(), &Some(words))
            }),
        });
    }
    Ok(Batch { what: "wordcount", checked: "words of the project's own documents", inputs })
}

/// Runs of letters and digits, with or without apostrophes among them.
fn count_words(text: &str) -> u64 {
    let splits = |c: char| !c.is_alphanumeric() && c != '\'' && c != '\u{2019}';
    text.split(splits).filter(|word| word.chars().any(char::is_alphanumeric)).count() as u64
}

/// Submits a batch, waits for every job and checks every result.
pub(crate) fn run(platform: &Platform, batch: &Batch) -> Result<Row> {
    let jobs: usize = batch.inputs.iter().map(|input| input.count).sum();
    shell::say(&format!("cofferdam job submit {}: {jobs} jobs", batch.what));
    let start = Instant::now();
    let mut ids = Vec::with_capacity(jobs);
    for input in &batch.inputs {
        for id in submit(platform, batch.what, input)? {
            ids.push((id, input));
        }
    }
    same("the number of jobs", &ids.len(), &jobs)?;

    let todo = Mutex::new(ids.into_iter());
    let next = || todo.lock().ok().and_then(|mut ids| ids.next());
    std::thread::scope(|scope| {
        let fetchers: Vec<_> = (0..FETCHERS)
            .map(|_| {
                scope.spawn(|| {
                    while let Some((id, input)) = next() {
                        fetch(platform, &id, input)
                            .with_context(|| format!("job {id} of {}", batch.what))?;
                    }
                    Ok::<(), anyhow::Error>(())
                })
            })
            .collect();
        fetchers.into_iter().try_for_each(|fetcher| match fetcher.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    let checked = batch.checked.to_owned();
    Ok(Row { what: batch.what, jobs, took: start.elapsed(), checked })
}

fn submit(platform: &Platform, module: &str, input: &Input) -> Result<Vec<String>> {
    let payload = format!("@{}", input.file.display());
    let count = input.count.to_string();
    let mut arguments = vec!["job", "submit", module, "--input", &payload, "--count", &count];
    arguments.extend(&input.options);
    let printed = String::from_utf8(platform.read(&arguments)?)?;
    Ok(printed.lines().map(str::to_owned).collect())
}

fn fetch(platform: &Platform, id: &str, input: &Input) -> Result<()> {
    platform.read(&["job", "wait", id, "--timeout", "5m"])?;
    (input.check)(&platform.read(&["job", "output", id])?)
}
