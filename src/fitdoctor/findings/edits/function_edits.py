"""Edits of a function that the user defined."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.findings.edits.edit import Edit
from fitdoctor.findings.place import Where
from fitdoctor.findings.rounds import Rounds


@dataclass(frozen=True)
class Decorate(Edit):
    """`@tf.function` above the function whose `def` is at the place."""

    function: str
    decorator: str
    imports: tuple[str, ...] = ()

    def in_words(self) -> str:
        return f"decorate {self.function} with @{self.decorator}"


@dataclass(frozen=True)
class Memoise(Edit):
    """A method that keeps what it returned, and returns it again: `@functools.cache` above it."""

    method: str

    def in_words(self) -> str:
        return f"decorate {self.method} with @functools.cache"

    def rounds(self) -> Rounds:
        return Rounds(settles=1)


@dataclass(frozen=True)
class SkipBatches(Edit):
    """A callback's batch hook begins with `if batch % 50: return`."""

    where: Where  # of the hook's definition
    every: int

    def in_words(self) -> str:
        return f"run the hook every {self.every}th batch"

    def rounds(self) -> Rounds:
        return Rounds(steps=self.every)


@dataclass(frozen=True)
class UseKerasOps(Edit):
    """`tf.numpy_function(sine, [x], tf.float32)` becomes `sine(x)`, with `keras.ops` in `sine`."""

    where: Where  # of any line of the file

    def in_words(self) -> str:
        return "write what the step calls in NumPy with keras.ops, and call it directly"
