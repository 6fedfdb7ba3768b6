//! The handler.

use cofferdam_guest::{Context, Error, Level, handler};
use image::imageops::FilterType;
use image::{DynamicImage, ImageError, ImageFormat, ImageReader, Limits};
use std::io::Cursor;

/// The size of a thumbnail when the job does not say, in pixels.
const DEFAULT_SIZE: u32 = 128;
/// The largest thumbnail, in pixels a side.
const MAX_SIZE: u32 = 4_096;
/// The largest picture, in pixels a side. A file of a few bytes can claim to be any size.
const MAX_PICTURE_SIZE: u32 = 16_384;
/// The most memory that decoding may take, in bytes. Well below the handler's own limit, so that
/// a picture that is too large is an error with a name and not the end of the sandbox.
const MAX_DECODE_BYTES: u64 = 128 << 20;

/// Makes a small PNG of a picture, in its own proportions.
///
/// The input is the PNG or JPEG file itself. The job's metadata `width` and `height` say into how
/// many pixels the result must fit: 128 each when left out. A picture that fits stays as it is.
#[handler(deadline = "30s", memory = "256MiB")]
pub fn thumbnail(ctx: &Context, file: &[u8]) -> Result<Vec<u8>, Error> {
    let (width, height) = (size(ctx, "width")?, size(ctx, "height")?);
    let picture = decode(file)?;
    ctx.progress(60, "decoded");

    let small = if picture.width() > width || picture.height() > height {
        picture.resize(width, height, FilterType::Triangle)
    } else {
        picture.clone()
    };
    ctx.progress(90, "resized");
    ctx.log(
        Level::Info,
        "made a thumbnail",
        &[
            ("from", &format_args!("{}x{}", picture.width(), picture.height())),
            ("to", &format_args!("{}x{}", small.width(), small.height())),
        ],
    );

    let mut png = Vec::new();
    small.write_to(&mut Cursor::new(&mut png), ImageFormat::Png)?;
    Ok(png)
}

fn size(ctx: &Context, key: &str) -> Result<u32, Error> {
    let Some(text) = ctx.metadata(key) else { return Ok(DEFAULT_SIZE) };
    match text.parse() {
        Ok(size) if (1..=MAX_SIZE).contains(&size) => Ok(size),
        _ => Err(Error::permanent(format!(
            "metadata `{key}` is `{text}`, but must be a number from 1 to {MAX_SIZE}"
        ))
        .with_code("bad-size")),
    }
}

fn decode(file: &[u8]) -> Result<DynamicImage, Error> {
    let mut reader = ImageReader::new(Cursor::new(file)).with_guessed_format()?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_PICTURE_SIZE);
    limits.max_image_height = Some(MAX_PICTURE_SIZE);
    limits.max_alloc = Some(MAX_DECODE_BYTES);
    reader.limits(limits);
    reader.decode().map_err(|error| {
        let code = match error {
            ImageError::Limits(_) => "too-large",
            ImageError::Unsupported(_) => "not-a-picture",
            _ => "bad-picture",
        };
        Error::from(error).into_permanent().with_code(code)
    })
}
