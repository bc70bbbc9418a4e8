"""An operation as its manifest declares it. `ratchet generate python` writes one for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from .canonical import check_input
from .keys import Placeholder, render_key

Input = TypeVar("Input")
Output = TypeVar("Output")


class Operation(Generic[Input, Output]):
    """An operation as a manifest declares it. Its key comes from its template, so nobody spells one."""

    def __init__(self, name: str, version: str, *, key: str, placeholders: Sequence[Placeholder]) -> None:
        self.name = name
        self.version = version
        self._template = key
        self._placeholders = placeholders

    def key(self, input: Input) -> str:
        """The key of an input, the same bytes as in Rust."""
        return render_key(self._template, input, self._placeholders)

    def enqueue(self, ratchet: Any, input: Input, **settings: Any) -> dict[str, Any]:
        """Puts the action on record with a `getratchet.Ratchet`. Enqueuing it again is safe."""
        check_input(input)
        answer: dict[str, Any] = ratchet.enqueue(
            self.name, self.version, input, idempotency_key=self.key(input), **settings
        )
        return answer

    def register(self, ratchet: Any, handler: Callable[[Input, Any], Output], **options: Any) -> None:
        """Has the worker of a `getratchet.Ratchet` execute it; the handler's second argument is its `ToolContext`."""
        ratchet.register_tool(self.name, self.version, handler, **options)
