//! Pictures that look a little like photographs, painted from a seed.
//!
//! All arithmetic is on integers, so that a seed gives the same picture on every machine.

use image::{Rgb, RgbImage};

/// Hills under an evening sky: large areas, soft gradients, hard edges, and grain.
pub fn landscape(seed: u32, width: u32, height: u32) -> RgbImage {
    let horizon = height / 2;
    RgbImage::from_fn(width, height, |x, y| {
        let grain = noise(seed, x, y) % 13;
        let far = horizon - ridge(seed, x, 61, height / 4);
        let near = height * 3 / 4 - ridge(seed ^ 0xbeef, x, 37, height / 4);
        let (dx, dy) = (x.abs_diff(width / 3), y.abs_diff(height / 4));
        let sun = height / 10;
        let colour = if y > near {
            [30, 70 + ramp(y - near, height, 60), 40]
        } else if y > far {
            [70, 80, 110 + ramp(y - far, height, 70)]
        } else if dx * dx + dy * dy < sun * sun {
            [250, 235, 170]
        } else {
            [90 + ramp(y, height, 150), 120 + ramp(y, height, 60), 200 - ramp(y, height, 60)]
        };
        Rgb(colour.map(|part| u8::try_from(part + grain).unwrap_or(u8::MAX)))
    })
}

/// 0 to `top` as `part` goes from 0 to `whole`.
fn ramp(part: u32, whole: u32, top: u32) -> u32 {
    part * top / whole.max(1)
}

/// The height of a hill at `x`, 0 to `top`: straight lines between random points.
fn ridge(seed: u32, x: u32, step: u32, top: u32) -> u32 {
    let (left, offset) = (x / step, x % step);
    let at = |point: u32| noise(seed, point, 0) % top.max(1);
    (at(left) * (step - offset) + at(left + 1) * offset) / step
}

/// A number that looks random, but is always the same for the same place.
fn noise(seed: u32, x: u32, y: u32) -> u32 {
    let mut bits = seed ^ x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77);
    bits = (bits ^ (bits >> 15)).wrapping_mul(0x2c1b_3c6d);
    bits = (bits ^ (bits >> 12)).wrapping_mul(0x297a_2d39);
    bits ^ (bits >> 15)
}
