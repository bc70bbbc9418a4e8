//! The bounds of the key language.

/// The longest rendered key, in bytes, marks included.
///
/// Common destinations take 255 characters; a key that fits here fits there. A longer key is refused when it
/// is rendered ([`KeyError::TooLong`](crate::KeyError::TooLong)), so nothing is enqueued under a cut key.
pub const MAX_KEY_BYTES: usize = 255;

/// The longest template text, in bytes.
pub const MAX_TEMPLATE_BYTES: usize = 512;

/// The most placeholders in one template.
pub const MAX_PLACEHOLDERS: usize = 16;

/// The longest step name, in bytes.
pub const MAX_STEP_BYTES: usize = 64;
