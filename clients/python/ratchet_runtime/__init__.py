"""Operations of a Ratchet manifest for the client `getratchet`, with keys and fingerprints as the specification has them."""

from .canonical import InputRefused, canonical_json, check_input, fingerprint
from .keys import KeyRefused, check_template, mark, render, render_key
from .operation import Operation
from .wire_keys import wire_key

__all__ = [
    "InputRefused",
    "KeyRefused",
    "Operation",
    "canonical_json",
    "check_input",
    "check_template",
    "fingerprint",
    "mark",
    "render",
    "render_key",
    "wire_key",
]
