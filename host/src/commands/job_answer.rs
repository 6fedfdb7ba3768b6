//! `job answer`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::input::Input;
use crate::printer::Printer;
use cofferdam_api::types::CallbackAnswer;
use cofferdam_core::wait::CallbackToken;

/// Calls a job back.
pub(super) async fn run(
    token: &CallbackToken,
    input: Option<Input>,
    client: &Client,
    printer: Printer,
) -> Result<Exit> {
    let bytes = input.map(|input| input.read()).transpose()?.unwrap_or_default();
    let answer: CallbackAnswer = client.send_bytes(&["callbacks", token.as_str()], bytes).await?;
    printer.data(&answer, |answer| format!("{} goes on", answer.job))?;
    Ok(Exit::Ok)
}
