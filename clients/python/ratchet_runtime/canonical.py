"""Inputs as canonical JSON (RFC 8785), and their fingerprints: spec/fingerprints.md."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

LARGEST_INPUT = 256 * 1024
_LARGEST_INTEGER = 2**53 - 1
# Each array, object and value inside one counts as a level.
_DEEPEST = 64


class InputRefused(ValueError):
    """A value cannot be written as JSON that every reader reads back unchanged. `reason` is one word."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def canonical_json(value: Any) -> str:
    """The canonical JSON (RFC 8785) of a value made of dicts with string keys, lists, strings, numbers, booleans and None."""
    return _write(value, _DEEPEST)


def check_input(input: Any) -> str:
    """The canonical JSON of an input; raises `InputRefused` where no record could hold it."""
    text = canonical_json(input)
    size = len(text.encode())
    if size > LARGEST_INPUT:
        raise InputRefused("too_large", f"the input has {size} bytes of JSON, the limit is {LARGEST_INPUT}")
    return text


def fingerprint(input: Any) -> str:
    """The fingerprint of an input, as 64 hexadecimal digits."""
    return hashlib.sha256(check_input(input).encode()).hexdigest()


def _write(value: Any, levels: int) -> str:
    if levels == 0:
        raise InputRefused("too_deep", f"the value is nested more than {_DEEPEST} levels deep")
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        if abs(value) > _LARGEST_INTEGER:
            raise InputRefused("integer_too_large", "an integer beyond ±(2^53−1) is rounded by readers of JSON: send a string")
        return str(value)
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise InputRefused("not_json", "the names of an object are strings")
        # By UTF-16 code units.
        members = sorted((_string(name), name) for name in value)
        members.sort(key=lambda member: member[1].encode("utf-16-be"))
        return "{" + ",".join(f"{text}:{_write(value[name], levels - 1)}" for text, name in members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_write(item, levels - 1) for item in value) + "]"
    raise InputRefused("not_json", f"a {type(value).__name__} cannot be written as JSON: convert it first")


def _string(text: str) -> str:
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise InputRefused("not_unicode", "a string has half of a surrogate pair: send well-formed Unicode")
    return json.dumps(text, ensure_ascii=False)


def _double(value: float) -> str:
    """The number as ECMAScript prints it; the digits of `repr` are the shortest too."""
    if not math.isfinite(value):
        raise InputRefused("not_a_number", "a float is NaN or infinite, which JSON cannot hold: use None")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # Where the point stands, counted from the first digit that is not zero.
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        text = digits.ljust(point, "0") if len(digits) <= point else f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "") + f"e{point - 1:+d}"
    return sign + text
