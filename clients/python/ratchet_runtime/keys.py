"""Rendering of keys: spec/key-language.md. The same values give the same bytes as in Rust, SQL and TypeScript."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any
from urllib.parse import quote

_LONGEST_KEY = 255


class KeyRefused(ValueError):
    """A value cannot be part of a key, or a key is refused. `reason` is one word, as the specification calls it."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


_IDENTIFIER = r"(?!_[.>])[A-Za-z_][A-Za-z0-9_]*"
_GRAMMAR = re.compile(rf"(?:[a-z0-9_.:/-]|<{_IDENTIFIER}(?:\.{_IDENTIFIER})*>)*")
_PIECE = re.compile(r"([^<]+)|<([^>]+)>")
_SPACE = "[\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
_SURROUNDED = re.compile(rf"\A{_SPACE}|{_SPACE}\Z")
_CONTROL = re.compile("[\u0000-\u001f\u007f-\u009f]")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_STEP = re.compile(r"[a-z0-9_.-]{1,64}")


def check_template(template: str) -> None:
    """Raises `KeyRefused` with the code of the finding where this is no key template."""
    shape = re.sub(r"<[^>]*>", "x", template)
    placeholders = template.count("<")
    rules = (
        (len(template.encode()) > 512, "R007", "it has more than 512 bytes"),
        (not _GRAMMAR.fullmatch(template), "R007", "it does not follow the grammar"),
        (placeholders == 0, "R006", "it has no placeholder, so all records would share one key"),
        (re.search(r">[^<:/]*<", template), "R007", "there is no `:` or `/` between two placeholders"),
        (re.search(r"\A[:/]|[:/]\Z|[:/][:/]", shape), "R007", "it has an empty segment"),
        (placeholders > 16, "R007", "it has more than 16 placeholders"),
        (len(shape) > _LONGEST_KEY, "R007", "it has more than 255 bytes beside its placeholders"),
    )
    for broken, code, what in rules:
        if broken:
            raise KeyRefused(code, f"the key template is refused: {what}")


Placeholder = Mapping[str, Any]
"""Where the JSON of an input has a value (`path`), and in which `form`."""


def render_key(template: str, input: Any, placeholders: Sequence[Placeholder] | None = None) -> str:
    """The key of an input.

    With `placeholders`, one for each of the template's in order, a value in another form than the code's is refused.
    Without them, the template says where a value is, and any string, integer and boolean will do.
    """
    if placeholders is None:
        return render(template, lambda path, _: (_value_at(input, path.split(".")), None))
    return render(template, lambda _, nth: (_value_at(input, placeholders[nth]["path"]), placeholders[nth]))


def render(template: str, value_of: Callable[[str, int], tuple[Any, Placeholder | None]]) -> str:
    """The same, with a function that gives value and form of a placeholder by its path in the template, or by its number."""
    check_template(template)
    key = ""
    nth = 0
    for literal, path in _PIECE.findall(template):
        if literal:
            key += literal
            continue
        subject = f"the value of `<{path}>`"
        value, form = value_of(path, nth)
        text = _text_of(value, subject) if form is None else _text_in_form(value, form, subject)
        _check_text(text, subject)
        key += quote(text, safe="")
        nth += 1
    return _within_limit(key)


def mark(key: str, generation: int, step: str | None = None) -> str:
    """The identity text of a generation and a step of a key."""
    if not 1 <= generation <= 4_294_967_295:
        raise KeyRefused("bad_generation", "a generation is an integer of 1 to 4294967295")
    if step is not None and not _STEP.fullmatch(step):
        raise KeyRefused("bad_step", "the name of a step has 1 to 64 characters of a-z, 0-9, `_`, `.` and `-`")
    marked = key + (f"#{generation}" if generation > 1 else "") + (f"!{step}" if step is not None else "")
    return _within_limit(marked)


class _Missing:
    pass


def _value_at(input: Any, path: Sequence[str]) -> Any:
    value = input
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return _Missing
        value = value[name]
    return value


def _text_of(value: Any, subject: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return value
    if value is _Missing:
        raise KeyRefused("missing", f"{subject} is missing in the input")
    if isinstance(value, float):
        raise KeyRefused("not_an_integer", f"{subject} is a float, which has no single text form: use an integer")
    raise KeyRefused("not_a_key_part", f"{subject} is no string, integer or boolean, of which a key is made")


def _text_in_form(value: Any, form: Placeholder, subject: str) -> str:
    if form["form"] == "opaque":
        raise KeyRefused("opaque", f"how {subject} is written in a key is known to its type in Rust alone")
    text = _text_of(value, subject)
    if not _has_form(value, form):
        raise KeyRefused("other_form", f"{subject} is not written as the code writes it: here stands {_in_words(form)}")
    return str(form["names"][text]) if form["form"] == "names" else text


def _has_form(value: Any, form: Placeholder) -> bool:
    kind = form["form"]
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool) and form["least"] <= value <= form["most"]
    if not isinstance(value, str):
        return False
    if kind == "character":
        return len(value) == 1
    if kind == "uuid":
        return _UUID.fullmatch(value) is not None
    if kind == "date":
        return _is_date(value)
    if kind == "names":
        return value in form["names"]
    return bool(kind == "text")


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _in_words(form: Placeholder) -> str:
    kind = form["form"]
    if kind == "integer":
        return f"an integer of {form['least']} to {form['most']}"
    if kind == "names":
        return f"one of {', '.join(sorted(form['names']))}"
    words = {
        "character": "a string of one character",
        "boolean": "True or False",
        "uuid": "a UUID with hyphens in lower case, as a string",
        "date": "a calendar date such as 2026-11-29, as a string",
    }
    return words.get(kind, "a string")


def _check_text(text: str, subject: str) -> None:
    if not text:
        raise KeyRefused("empty", f"{subject} is empty, so all records without it would share one key")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise KeyRefused("not_unicode", f"{subject} has half of a surrogate pair: send well-formed Unicode")
    if _CONTROL.search(text):
        raise KeyRefused("control_character", f"{subject} contains a control character: clean it where it enters")
    if _SURROUNDED.search(text):
        raise KeyRefused(
            "surrounding_white_space",
            f"{subject} begins or ends with white space, so that one thing could get two keys: trim it where it enters",
        )


def _within_limit(key: str) -> str:
    if len(key) > _LONGEST_KEY:
        raise KeyRefused(
            "too_long", f"the key has {len(key)} bytes and {_LONGEST_KEY} are allowed: use an id in place of a long text"
        )
    return key
