"""Changes of the user's source, said as facts: what to do at which recorded call.

A rule knows what would help and where. How the text is changed, and whether it can be at all,
is the business of `cures/`. Values are Python source text.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fitdoctor.findings.place import Where


@dataclass(frozen=True)
class SetKeyword:
    """`compile(loss)` becomes `compile(loss, jit_compile=False)`, replacing a given value."""

    where: Where
    call: str  # the called name's last part: `compile`, `map`, `DataLoader`, a class of the user's
    keyword: str
    value: str
    imports: tuple[str, ...] = ()


@dataclass(frozen=True)
class DropKeyword:
    """`compile(loss, run_eagerly=True)` becomes `compile(loss)`."""

    where: Where
    call: str
    keyword: str


@dataclass(frozen=True)
class RenameCall:
    """`model.predict(x, verbose=0)` becomes `model.predict_on_batch(x)`."""

    where: Where
    call: str
    to: str
    drop: tuple[str, ...] = ()  # keywords that the new name does not take


@dataclass(frozen=True)
class AppendCall:
    """`.map(decode)` becomes `.map(decode).cache()`."""

    where: Where
    call: str
    text: str
    imports: tuple[str, ...] = ()


@dataclass(frozen=True)
class SwapCalls:
    """`.map(f).batch(n)` becomes `.batch(n).map(f)`; both in one chain."""

    where: Where
    first: str
    second: str


@dataclass(frozen=True)
class WrapArgument:
    """`step(x, weight)` becomes `step(x, tf.constant(weight))`."""

    where: Where
    call: str
    argument: int | str  # a position or a keyword
    before: str
    after: str
    imports: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decorate:
    """`@tf.function` above the function whose `def` is at the place."""

    where: Where
    function: str
    decorator: str
    imports: tuple[str, ...] = ()


Edit = SetKeyword | DropKeyword | RenameCall | AppendCall | SwapCalls | WrapArgument | Decorate


def edit_to_json(edit: Edit) -> dict[str, Any]:
    """The form of an edit in the JSON report."""
    return {"edit": type(edit).__name__, **asdict(edit)}
