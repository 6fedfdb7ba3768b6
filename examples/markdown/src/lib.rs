//! A handler that turns Markdown into HTML.

use cofferdam_guest::{Context, Error, handler};
use pulldown_cmark::{Options, Parser, html};

/// Turns Markdown (with tables, strikethrough, task lists and footnotes) into HTML.
///
/// Input and output are the texts themselves, in UTF-8. HTML in the Markdown is passed through.
#[handler(deadline = "10s", memory = "64MiB")]
pub fn markdown(ctx: &Context, input: &[u8]) -> Result<Vec<u8>, Error> {
    let text = std::str::from_utf8(input)
        .map_err(|error| Error::from(error).into_permanent().with_code("not-text"))?;
    let html = render(text);
    ctx.info(format!("{} bytes of Markdown became {} bytes of HTML", text.len(), html.len()));
    Ok(html.into_bytes())
}

/// The HTML of a Markdown text.
pub fn render(text: &str) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let mut html = String::with_capacity(text.len() * 2);
    html::push_html(&mut html, Parser::new_ext(text, options));
    html
}
