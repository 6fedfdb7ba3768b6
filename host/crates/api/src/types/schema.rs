//! How words of `core` look in the OpenAPI document.
//!
//! `core` does not know OpenAPI; these markers stand in for its types, and take the words from
//! them, so that the document cannot lag behind.

use cofferdam_core::class::FailureClass;
use cofferdam_core::log::LogLevel;
use cofferdam_core::module::World;
use cofferdam_core::state::JobState;
use std::borrow::Cow;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

macro_rules! words {
    ($(#[$doc:meta])* $marker:ident, $name:literal, $words:expr) => {
        $(#[$doc])*
        pub(super) struct $marker;

        impl PartialSchema for $marker {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .enum_values(Some($words))
                    .build()
                    .into()
            }
        }

        impl ToSchema for $marker {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }
        }
    };
}

words!(
    /// Stands in for [`JobState`].
    StateWord,
    "JobState",
    JobState::ALL.map(JobState::as_str)
);
words!(
    /// Stands in for [`FailureClass`].
    ClassWord,
    "FailureClass",
    FailureClass::ALL.map(FailureClass::as_str)
);
words!(
    /// Stands in for [`LogLevel`].
    LevelWord,
    "LogLevel",
    LogLevel::ALL.map(LogLevel::as_str)
);
words!(
    /// Stands in for [`World`].
    WorldWord,
    "World",
    [World::Handler, World::Command].map(World::as_str)
);

/// Stands in for [`cofferdam_core::retry::Backoff`].
pub(super) struct BackoffText;

impl PartialSchema for BackoffText {
    fn schema() -> RefOr<Schema> {
        let duration = || ObjectBuilder::new().schema_type(Type::String).build();
        let closed = || {
            ObjectBuilder::new()
                .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
        };
        let shapes = OneOfBuilder::new()
            .description(Some("How the delay between attempts grows."))
            .item(ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["none"])))
            .item(closed().property("constant", duration()).required("constant"))
            .item(
                closed()
                    .property("exponential", duration())
                    .required("exponential")
                    .property("cap", duration()),
            )
            .build();
        RefOr::T(Schema::OneOf(shapes))
    }
}

impl ToSchema for BackoffText {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Backoff")
    }
}
