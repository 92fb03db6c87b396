"""Changes of the user's source, said as facts: what to do at which recorded call.

A rule knows what would help and where. How the text is changed, and whether it can be at all,
is the business of `cures/`. Values are Python source text. `imports` are the import statements
under which a value's names are written; a file that binds them otherwise keeps its own names.

Where the line is ANYWHERE, it was not recorded: a keyword is then set or dropped in every call of
that name in the file that is given it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fitdoctor.findings.place import Where
from fitdoctor.units import duration, size

TENSORFLOW = "import tensorflow as tf"
JAX = "import jax"
FITDOCTOR = "import fitdoctor"
KERAS = "import keras"
OS = "import os"
FUNCTOOLS = "import functools"
CACHE = ".cache()"


@dataclass(frozen=True)
class SetKeyword:
    """`compile(loss)` becomes `compile(loss, jit_compile=False)`, replacing a given value."""

    where: Where
    call: str  # the called name's last part: `compile`, `map`, `DataLoader`, a class of the user's
    keyword: str
    value: str
    position: int | None = None  # of the same parameter where it is given without its name
    imports: tuple[str, ...] = ()
    overrides: bool = False  # also what the user computes: it was measured to be wrong

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f"give {self.call}() {self.keyword}={self.value}"


@dataclass(frozen=True)
class DropKeyword:
    """`compile(loss, run_eagerly=True)` becomes `compile(loss)`."""

    where: Where
    call: str
    keyword: str

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f"remove {self.keyword} from {self.call}()"


@dataclass(frozen=True)
class RenameKeyword:
    """`LSTM(8, recurrent_dropout=0.2)` becomes `LSTM(8, dropout=0.2)`.

    A call that has the other keyword as well only loses the first.
    """

    where: Where
    call: str
    keyword: str
    to: str

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f"give {self.call}() {self.to} instead of {self.keyword}"


@dataclass(frozen=True)
class CallInstead:
    """`tf.data.Dataset.from_generator(rows, …)` becomes `fitdoctor.from_generator(rows, …)`.

    Another function with the same arguments, under its full name.
    """

    where: Where
    call: str
    to: str
    imports: tuple[str, ...] = ()

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f"call {self.to}() instead of {self.call}()"


@dataclass(frozen=True)
class RenameCall:
    """`model.predict(x, verbose=0)` becomes `model.predict_on_batch(x)`.

    A call with an argument that is neither dropped nor taken is another call, and stays.
    """

    where: Where
    call: str
    to: str
    drop: tuple[str, ...] = ()  # keywords that change nothing there and that the new name refuses
    takes: tuple[str, ...] = ()  # keywords that the new name takes too
    positional: int = 1  # arguments that mean the same without a name
    same_result: bool = True  # False: only where nothing uses what the call returns

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f"call {self.to}() instead of {self.call}()"


@dataclass(frozen=True)
class VmapInstead:
    """`jax.lax.map(f, rows)` becomes `jax.vmap(f)(rows)`."""

    where: Where

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return "jax.vmap(f)(rows) instead of jax.lax.map(f, rows)"


@dataclass(frozen=True)
class AppendCall:
    """`.map(decode)` becomes `.map(decode).cache()`."""

    where: Where
    call: str
    text: str
    imports: tuple[str, ...] = ()

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f"put {self.text} right after {self.call}()"


@dataclass(frozen=True)
class ReadPacked:
    """`.map(decode)` becomes `.map(decode).apply(fitdoctor.packed("DEST"))`.

    The first run writes what the pipeline made so far, and later runs read it. Where to, only
    the user can say, so the edit is made when a folder is named.
    """

    where: Where
    call: str
    count_bytes: int  # that the folder will hold
    seconds: float  # that writing takes, once
    dest: str | None = None

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        dest = "DEST" if self.dest is None else self.dest
        return (
            f'put .apply(fitdoctor.packed("{dest}")) right after {self.call}(); '
            f"the first run {self.cost()}"
        )

    def cost(self) -> str:
        """What the first run writes, and how long that takes."""
        return f"writes about {size(self.count_bytes)} in {duration(self.seconds * 1e9)}"


@dataclass(frozen=True)
class DatasetOption:
    """`.map(read)` becomes `.map(read).with_options(options)`, with the option set before.

    Options hold for the whole pipeline, wherever in it they are given.
    """

    where: Where
    call: str
    option: str  # as in tf.data.Options: `threading.private_threadpool_size`
    value: str
    imports: tuple[str, ...] = (TENSORFLOW,)

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f"give the dataset tf.data.Options with {self.option} = {self.value}"


@dataclass(frozen=True)
class SwapCalls:
    """`.map(f).batch(n)` becomes `.batch(n).map(f)`; both in one chain.

    What lies between the two stays where it is: the first is moved right behind the second.
    Where others use what the first returns, too, it stays for them: `part = whole.skip(n)`
    becomes `part = source.skip(n).map(f)`.
    """

    where: Where  # of the first
    first: str
    second: str
    second_where: Where | None = None  # needed only where the two are in different statements

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f"put {self.second}() before {self.first}()"


@dataclass(frozen=True)
class WrapArgument:
    """`step(x, weight)` becomes `step(x, tf.constant(weight))`."""

    where: Where
    call: str
    argument: int | str  # a position, or a name as in the function's definition
    before: str
    after: str
    definition: Where | None = None  # of the function, whose names tell the position
    imports: tuple[str, ...] = ()
    position: int | None = None  # of a named one, where it is known

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        which = f"argument {self.argument + 1}" if isinstance(self.argument, int) else self.argument
        return f"pass {which} of {self.call}() as {self.before}…{self.after}"


@dataclass(frozen=True)
class Decorate:
    """`@tf.function` above the function whose `def` is at the place."""

    where: Where
    function: str
    decorator: str
    imports: tuple[str, ...] = ()

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f"decorate {self.function} with @{self.decorator}"


@dataclass(frozen=True)
class Memoise:
    """A method that keeps what it returned, and returns it again: `@functools.cache` above it."""

    where: Where
    method: str

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f"decorate {self.method} with @functools.cache"


@dataclass(frozen=True)
class CastBefore:
    """`x = x.astype("float32")` before the loop in which `fit(x, y)` is called."""

    where: Where
    call: str
    argument: str  # the parameter's name: `x`
    position: int  # and its position
    dtype: str

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return (
            f'cast {self.argument} of {self.call}() once, before the loop: .astype("{self.dtype}")'
        )


@dataclass(frozen=True)
class DropSetting:
    """`os.environ["OMP_NUM_THREADS"] = "32"` goes, and so does `set_num_threads(32)`.

    The statement at the place, or, ANYWHERE, all of the file that make the setting.
    """

    where: Where
    names: tuple[str, ...]  # of environment variables, options or functions: the same setting

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f"remove the statement that sets {' or '.join(self.names)}"


@dataclass(frozen=True)
class AddSetting:
    """`keras.config.set_dtype_policy("mixed_bfloat16")` right behind the imports of the file.

    Or `os.environ["JAX_PLATFORMS"] = "cpu"` before them: libraries read it when they are imported.
    """

    where: Where  # of any line of the file
    statement: str
    names: tuple[str, ...]  # the same setting's, as in DropSetting: a file that has one keeps it
    imports: tuple[str, ...]
    first: bool = False

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f"put {self.statement} {'before' if self.first else 'behind'} the imports"


@dataclass(frozen=True)
class SkipBatches:
    """A callback's batch hook begins with `if batch % 50: return`."""

    where: Where  # of the hook's definition
    every: int

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f"return from the batch hook at once, but at every {self.every}th batch"


@dataclass(frozen=True)
class LongerEpochs:
    """`fit(dataset, epochs=500)` becomes `fit(dataset.repeat(50), epochs=10)`: the same steps."""

    where: Where
    times: int

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f"give fit() the dataset.repeat({self.times}), and epochs divided by {self.times}"


@dataclass(frozen=True)
class OneFit:
    """`for epoch in range(20): model.fit(x, y)` becomes `model.fit(x, y, epochs=20)`."""

    where: Where

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return "call fit() once, with as many epochs as the loop has rounds"


@dataclass(frozen=True)
class UseKerasOps:
    """`tf.numpy_function(sine, [x], tf.float32)` becomes `sine(x)`, with `keras.ops` in `sine`."""

    where: Where  # of any line of the file

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return "write what the step calls in NumPy with keras.ops, and call it directly"


@dataclass(frozen=True)
class ReadAll:
    """`file["images"]` becomes `file["images"][:]`: an HDF5 dataset is read into memory."""

    where: Where
    name: str  # of the dataset in the file

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return f'read ["{self.name}"] into memory where it is opened: ["{self.name}"][:]'


@dataclass(frozen=True)
class HoistCompile:
    """`model.compile(Adam(rate), loss)` moves out of its loop; the rate is set in its place.

    In a function that is called again and again, it is done `if not model.compiled`.
    """

    where: Where

    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""
        return "compile once before the loop; in it, model.optimizer.learning_rate = …"


Edit = (
    SetKeyword
    | DropKeyword
    | RenameKeyword
    | CallInstead
    | RenameCall
    | VmapInstead
    | AppendCall
    | ReadPacked
    | DatasetOption
    | SwapCalls
    | WrapArgument
    | Decorate
    | Memoise
    | CastBefore
    | DropSetting
    | AddSetting
    | SkipBatches
    | LongerEpochs
    | OneFit
    | UseKerasOps
    | ReadAll
    | HoistCompile
)


def edit_to_json(edit: Edit) -> dict[str, Any]:
    """The form of an edit in the JSON report."""
    return {"edit": type(edit).__name__, **asdict(edit), "in_words": edit.in_words()}
