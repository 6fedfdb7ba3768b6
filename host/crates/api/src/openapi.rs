//! The OpenAPI document, made from the table of routes.

use crate::router;
use crate::types::ProblemBody;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, Content, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, Ref, RefOr,
    ResponseBuilder,
};
use utoipa::{PartialSchema as _, ToSchema as _};

/// The name of the security scheme.
const TOKEN: &str = "token";

/// The OpenAPI document of the API.
pub fn openapi() -> OpenApi {
    let mut document = router::table().into_openapi();
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        operation.responses.responses.insert("default".to_owned(), problem());
    }
    document
}

/// What the document says before its routes.
pub(crate) fn head() -> OpenApi {
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("Cofferdam")
                .version(env!("CARGO_PKG_VERSION"))
                .description(Some("Runs untrusted jobs in sealed compartments."))
                .license(Some(LicenseBuilder::new().name(env!("CARGO_PKG_LICENSE")).build())),
        )
        .components(Some(
            ComponentsBuilder::new()
                .schema(ProblemBody::name(), ProblemBody::schema())
                .security_scheme(
                    TOKEN,
                    SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build()),
                )
                .build(),
        ))
        .security(Some([SecurityRequirement::new(TOKEN, [""; 0])]))
        .build()
}

/// Every operation can be refused, and is so in one shape.
fn problem() -> RefOr<utoipa::openapi::Response> {
    let body = Content::new(Some(Ref::from_schema_name(ProblemBody::name())));
    ResponseBuilder::new()
        .description("A problem")
        .content("application/problem+json", body)
        .build()
        .into()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().filter_map(Option::as_mut)
}
