"""Edits of the statements around a call, and of a function that the user defined."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.findings.edits.edit import Edit
from fitdoctor.findings.place import Where
from fitdoctor.findings.rounds import Rounds


@dataclass(frozen=True)
class CastBefore(Edit):
    """`x = x.astype("float32")` before the loop in which `fit(x, y)` is called."""

    call: str
    argument: str  # the parameter's name: `x`
    position: int  # and its position
    dtype: str

    def in_words(self) -> str:
        return (
            f'cast {self.argument} of {self.call}() once, before the loop: .astype("{self.dtype}")'
        )


@dataclass(frozen=True)
class DropSetting(Edit):
    """`os.environ["OMP_NUM_THREADS"] = "32"` goes, and so does `set_num_threads(32)`.

    The statement at the place, or, ANYWHERE, all of the file that make the setting.
    """

    names: tuple[str, ...]  # of environment variables, options or functions: the same setting

    def in_words(self) -> str:
        return f"remove the statement that sets {' or '.join(self.names)}"


@dataclass(frozen=True)
class AddSetting(Edit):
    """`keras.config.set_dtype_policy("mixed_bfloat16")` right after the imports of the file.

    Or `os.environ["JAX_PLATFORMS"] = "cpu"` before them: libraries read it when they are imported.
    """

    where: Where  # of any line of the file
    statement: str
    names: tuple[str, ...]  # the same setting's, as in DropSetting: a file that has one keeps it
    imports: tuple[str, ...]
    first: bool = False

    def in_words(self) -> str:
        return f"put {self.statement} {'before' if self.first else 'after'} the imports"


@dataclass(frozen=True)
class LongerEpochs(Edit):
    """`fit(dataset, epochs=500)` becomes `fit(dataset.repeat(50), epochs=10)`: the same steps."""

    times: int

    def in_words(self) -> str:
        return f"give fit() the dataset.repeat({self.times}), and epochs divided by {self.times}"

    def rounds(self) -> Rounds:
        return Rounds(epochs=self.times)


@dataclass(frozen=True)
class OneFit(Edit):
    """`for epoch in range(20): model.fit(x, y)` becomes `model.fit(x, y, epochs=20)`."""

    def in_words(self) -> str:
        return "call fit() once, with as many epochs as the loop has rounds"


@dataclass(frozen=True)
class HoistCompile(Edit):
    """`model.compile(Adam(rate), loss)` moves out of its loop; the rate is set in its place.

    In a function that is called again and again, it is done `if not model.compiled`.
    """

    def in_words(self) -> str:
        return "compile once before the loop; in it, model.optimizer.learning_rate = …"


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
class ReadAfterLoop(Edit):
    """`losses.append(float(loss))` keeps the tensor; the list is converted after the loop."""

    detach: bool = False  # torch: a kept loss would keep its whole graph

    def in_words(self) -> str:
        return "append the value as it is, and convert the list once, after the loop"


@dataclass(frozen=True)
class ReadAheadInLoop(Edit):
    """`for batch in batches():` becomes `for batch in fitdoctor.read_ahead(batches()):`."""

    def in_words(self) -> str:
        return "let a thread make the next batches: for … in fitdoctor.read_ahead(…)"


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
