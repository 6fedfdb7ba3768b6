//! Thumbnails of real files, compared with averages that are computed here, pixel by pixel.

#![expect(clippy::unwrap_used, reason = "tests say what they expect by failing")]

use cofferdam_guest::testing::{self, Job};
use cofferdam_guest::{Error, Retry};
use image::{ImageFormat, RgbImage};
use thumbnail::{picture, thumbnail};

/// Painted by `--example picture` with seed 7, 240 by 180 pixels.
const PNG: &[u8] = include_bytes!("data/landscape.png");
/// Painted by `--example picture` with seed 8, 600 by 400 pixels.
const JPEG: &[u8] = include_bytes!("data/landscape.jpg");

fn make(job: Job, file: &[u8]) -> Result<RgbImage, Error> {
    let png = job.run(thumbnail, file).result?;
    Ok(image::load_from_memory_with_format(&png, ImageFormat::Png).unwrap().to_rgb8())
}

/// The mean distance, in steps of 0 to 255, between a thumbnail's colours and the averages of the
/// areas that its pixels stand for.
fn distance(small: &RgbImage, large: &RgbImage) -> f64 {
    let mut sum = 0.0;
    for (x, y, pixel) in small.enumerate_pixels() {
        let columns = x * large.width() / small.width()..(x + 1) * large.width() / small.width();
        let rows = y * large.height() / small.height()..(y + 1) * large.height() / small.height();
        for channel in 0..3 {
            let area =
                rows.clone().flat_map(|row| columns.clone().map(move |column| (column, row)));
            let (total, count) = area.fold((0.0, 0.0), |(total, count), (column, row)| {
                (total + f64::from(large.get_pixel(column, row)[channel]), count + 1.0)
            });
            sum += (f64::from(pixel[channel]) - total / count).abs();
        }
    }
    sum / f64::from(small.width() * small.height() * 3)
}

#[test]
fn a_png_becomes_small() {
    let small = make(Job::new(), PNG).unwrap();

    assert_eq!(small.dimensions(), (128, 96), "240x180 into 128x128");
    let distance = distance(&small, &picture::landscape(7, 240, 180));
    assert!(distance < 4.0, "{distance}");
}

#[test]
fn a_jpeg_becomes_the_size_that_the_metadata_says() {
    let job = Job::new().metadata("width", "60").metadata("height", "80");
    let small = make(job, JPEG).unwrap();

    assert_eq!(small.dimensions(), (60, 40), "600x400 into 60x80");
    let distance = distance(&small, &picture::landscape(8, 600, 400));
    assert!(distance < 4.0, "{distance}");
}

#[test]
fn a_picture_that_fits_keeps_every_pixel() {
    let job = Job::new().metadata("width", "240").metadata("height", "180");
    assert_eq!(make(job, PNG).unwrap(), picture::landscape(7, 240, 180));
}

#[test]
fn it_tells_what_it_did() {
    let run = testing::run(thumbnail, PNG);
    assert_eq!(run.progress, [(60, "decoded".to_owned()), (90, "resized".to_owned())]);
    let fields = [("from", "240x180"), ("to", "128x96")];
    assert_eq!(run.logs[0].fields, fields.map(|(key, value)| (key.to_owned(), value.to_owned())));
}

#[test]
fn what_is_no_good_picture_is_refused_for_good() {
    // A PNG that says it is 100,000 pixels wide, in 33 bytes.
    let mut bomb = Vec::from(*b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR");
    bomb.extend([0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0, 8, 2, 0, 0, 0]);
    bomb.extend(crc32(&bomb[12..]).to_be_bytes());
    for (file, code) in [
        (b"GIF89a, or so it says".as_slice(), "not-a-picture"),
        (b"".as_slice(), "not-a-picture"),
        (&PNG[..PNG.len() / 2], "bad-picture"),
        (&bomb, "too-large"),
    ] {
        let error = make(Job::new(), file).unwrap_err();
        assert_eq!((error.code(), error.advice()), (code, Retry::Permanent), "{error}");
    }
}

#[test]
fn a_size_that_is_none_is_refused_for_good() {
    for text in ["0", "-1", "4097", "wide", ""] {
        let error = make(Job::new().metadata("width", text), PNG).unwrap_err();
        assert_eq!((error.code(), error.advice()), ("bad-size", Retry::Permanent), "{text}");
    }
}

/// The checksum of a PNG chunk.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    })
}
