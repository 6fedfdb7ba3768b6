//! Submitting jobs.

use super::schema::{BackoffText, StateWord};
use cofferdam_core::Time;
use cofferdam_core::ids::JobId;
use cofferdam_core::job::Priority;
use cofferdam_core::module::ModuleRef;
use cofferdam_core::name::QueueName;
use cofferdam_core::retry::Backoff;
use cofferdam_core::state::JobState;
use cofferdam_core::units;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// A job to be done.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewJobBody {
    /// An id of the client's own making, a UUID version 7, so that submitting twice is
    /// submitting once. Made by the server when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Uuid)]
    pub id: Option<JobId>,
    /// What to run: `NAME[@VERSION][/KIND]`.
    #[schema(value_type = String, examples("images", "images@1.4.0/thumbnail"))]
    pub module: ModuleRef,
    /// The input: any JSON value. The handler gets its exact source text, so that no number is
    /// rounded on the way. Without this and `input_base64` the input is empty.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<Box<RawValue>>,
    /// The input where it is no JSON: bytes in standard Base64. Not together with `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_base64: Option<String>,
    /// The queue; the kind's own when left out, and `default` after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub queue: Option<QueueName>,
    /// 1 (highest) to 4; 2 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u8>, minimum = 1, maximum = 4)]
    pub priority: Option<Priority>,
    /// Not before this time. Not together with `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub run_at: Option<Time>,
    /// Not before this much later. Not together with `run_at`.
    #[serde(default, with = "units::optional_duration", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, examples("10s"))]
    pub delay: Option<Duration>,
    /// Wall-clock time of each attempt.
    #[serde(default, with = "units::optional_duration", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, examples("30s"))]
    pub deadline: Option<Duration>,
    /// Linear memory of each attempt.
    #[serde(
        default,
        rename = "memory",
        with = "units::optional_size",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<String>, examples("64MiB"))]
    pub memory_bytes: Option<u64>,
    /// Fuel units of each attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// How often the job may be attempted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100)]
    pub max_attempts: Option<u32>,
    /// How the delay between attempts grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BackoffText>)]
    pub backoff: Option<Backoff>,
    /// Arguments of a command job, without the program's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables of a command job, over those of the manifest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// What the handler and the operator shall see.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl NewJobBody {
    /// A job of this module with every option left out.
    pub fn new(module: ModuleRef) -> Self {
        Self {
            id: None,
            module,
            input: None,
            input_base64: None,
            queue: None,
            priority: None,
            run_at: None,
            delay: None,
            deadline: None,
            memory_bytes: None,
            fuel: None,
            max_attempts: None,
            backoff: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            metadata: BTreeMap::new(),
        }
    }
}

/// A field that is there is `Some`, even when it is `null`: `null` is an input like any other.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(from).map(Some)
}

/// One job, or several under the key `jobs` that are accepted all or none.
#[derive(Clone, Debug)]
pub enum SubmitBody {
    /// A job.
    One(Box<NewJobBody>),
    /// Jobs, in order.
    Many(Vec<NewJobBody>),
}

/// The other shape of [`SubmitBody`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Many<J> {
    jobs: J,
}

impl Serialize for SubmitBody {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(job) => job.serialize(to),
            Self::Many(jobs) => Many { jobs }.serialize(to),
        }
    }
}

impl SubmitBody {
    /// Whether a JSON text has the shape with the key `jobs`.
    ///
    /// An untagged enum would do this by itself, but it buffers what it reads as a value and so
    /// loses both the source text of inputs and the place of errors.
    pub(crate) fn is_many(json: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Probe {
            jobs: Option<serde::de::IgnoredAny>,
        }
        serde_json::from_slice::<Probe>(json).is_ok_and(|probe| probe.jobs.is_some())
    }

    /// Reads the shape with the key `jobs`.
    pub(crate) fn many<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Many::<Vec<NewJobBody>>::deserialize(from).map(|many| Self::Many(many.jobs))
    }

    /// Reads the shape that is one job.
    pub(crate) fn one<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        NewJobBody::deserialize(from).map(|job| Self::One(Box::new(job)))
    }
}

impl<'de> Deserialize<'de> for SubmitBody {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(from)?;
        let mut inner = serde_json::Deserializer::from_str(json.get());
        let read = if Self::is_many(json.get().as_bytes()) { Self::many } else { Self::one };
        read(&mut inner).map_err(D::Error::custom)
    }
}

impl PartialSchema for SubmitBody {
    fn schema() -> RefOr<Schema> {
        let job = || Ref::from_schema_name(NewJobBody::name());
        let shapes = OneOfBuilder::new()
            .description(Some("One job, or several that are accepted all or none."))
            .item(job())
            .item(
                ObjectBuilder::new()
                    .property("jobs", ArrayBuilder::new().items(job()).max_items(Some(MAX_JOBS)))
                    .required("jobs"),
            )
            .build();
        RefOr::T(Schema::OneOf(shapes))
    }
}

const MAX_JOBS: usize = cofferdam_core::limits::MAX_ENQUEUE;

impl ToSchema for SubmitBody {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("SubmitBody")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((NewJobBody::name().into_owned(), NewJobBody::schema()));
        NewJobBody::schemas(schemas);
    }
}

/// What became of the jobs that were submitted, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Submitted {
    /// One entry a job.
    pub jobs: Vec<SubmittedJob>,
}

/// A job that was accepted now or before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubmittedJob {
    /// Its id.
    #[schema(value_type = String, format = Uuid)]
    pub id: JobId,
    /// Its state.
    #[schema(value_type = StateWord)]
    pub state: JobState,
    /// Whether it is new: false where a job of this id was there before.
    pub created: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_text_of_an_input_survives() {
        // given numbers that no floating-point number can hold
        let json = r#"{"module": "m", "input": {"n": 123456789012345678901234567890.50}}"#;
        // when the body is read
        let SubmitBody::One(job) = serde_json::from_str(json).unwrap() else { panic!("one job") };
        // then they are as they were written
        assert_eq!(job.input.unwrap().get(), r#"{"n": 123456789012345678901234567890.50}"#);
    }

    #[test]
    fn null_is_an_input_and_nothing_is_none() {
        let read = |json: &str| match serde_json::from_str(json).unwrap() {
            SubmitBody::One(job) => job.input.map(|input| input.get().to_owned()),
            SubmitBody::Many(_) => panic!("one job"),
        };
        assert_eq!(read(r#"{"module": "m", "input": null}"#).as_deref(), Some("null"));
        assert_eq!(read(r#"{"module": "m"}"#), None);
    }

    #[test]
    fn several_jobs_come_back() {
        let json = r#"{"jobs":[{"module":"a"},{"module":"b@1/k","delay":"10s","memory":"64MiB"}]}"#;
        let body: SubmitBody = serde_json::from_str(json).unwrap();
        assert!(matches!(&body, SubmitBody::Many(jobs) if jobs.len() == 2));
        assert_eq!(serde_json::to_string(&body).unwrap(), json);
    }

    #[test]
    fn unknown_fields_are_named() {
        for json in [
            r#"{"module": "a", "colour": 1}"#,
            r#"{"jobs": [], "colour": 1}"#,
            r#"{"jobs": [{"module": "a", "colour": 1}]}"#,
        ] {
            let error = serde_json::from_str::<SubmitBody>(json).unwrap_err().to_string();
            assert!(error.contains("unknown field `colour`"), "{error}");
        }
    }
}
