//! What can be said of an upload without compiling it.

use crate::convert::to_component;
use crate::looks::looks_like;
use crate::reject::Reject;
use crate::survey::Survey;
use cofferdam_core::limits::MAX_COMPONENT;
use cofferdam_core::module::World;
use wasmparser::Parser;
use wasmtime::Engine;

/// A component that is worth compiling.
#[derive(Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The component: the uploaded bytes, or what was made of an uploaded core module.
    pub component: Vec<u8>,
    /// What shape of component it is.
    pub world: World,
    /// The interfaces that it imports: what it can do.
    pub imports: Vec<String>,
    /// The interfaces that it exports.
    pub exports: Vec<String>,
    /// The version of the SDK that it was built with, when it says so.
    pub sdk_version: Option<String>,
    /// Whether the upload was a core module.
    pub converted: bool,
}

impl std::fmt::Debug for Inspection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspection")
            .field("bytes", &self.component.len())
            .field("world", &self.world)
            .field("imports", &self.imports)
            .field("exports", &self.exports)
            .field("sdk_version", &self.sdk_version)
            .field("converted", &self.converted)
            .finish()
    }
}

/// Looks at an upload: size, shape, imports and exports. A core module that carries component
/// metadata is made a component. Nothing is compiled or run.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, Reject> {
    if bytes.is_empty() {
        return Err(Reject::Empty);
    }
    let size = bytes.len() as u64;
    if size > MAX_COMPONENT {
        return Err(Reject::TooLarge { bytes: size, max: MAX_COMPONENT });
    }
    if Engine::detect_precompiled(bytes).is_some() {
        return Err(Reject::Precompiled);
    }
    if !Parser::is_component(bytes) && !Parser::is_core_wasm(bytes) {
        return Err(Reject::NotWasm { looks_like: looks_like(bytes) });
    }

    let uploaded = Survey::of(bytes)?;
    let (component, survey, converted) = if uploaded.is_component {
        (bytes.to_vec(), uploaded, false)
    } else if uploaded.has_metadata {
        let component = to_component(bytes)?;
        let survey = Survey::of_component(&component)?;
        (component, survey, true)
    } else {
        return Err(Reject::CoreModuleWithoutMetadata);
    };
    survey.check_imports()?;
    let world = survey.world()?;
    let Survey { imports, exports, sdk, .. } = survey;
    Ok(Inspection { component, world, imports, exports, sdk_version: sdk, converted })
}
