//! Paints a picture into a file, PNG or JPEG by its name:
//! `cargo run -p thumbnail --example picture -- SEED WIDTH HEIGHT FILE`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("usage: picture SEED WIDTH HEIGHT FILE");
    let (seed, width, height) = (next()?.parse()?, next()?.parse()?, next()?.parse()?);
    thumbnail::picture::landscape(seed, width, height).save(next()?)?;
    Ok(())
}
