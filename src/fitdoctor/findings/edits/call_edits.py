"""Edits of one call: its arguments, its name, what is called instead."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.findings.edits.edit import Claim, Edit
from fitdoctor.findings.place import Where
from fitdoctor.findings.rounds import Rounds

# Keywords by which something is done every N epochs.
_EVERY_EPOCHS = frozenset({"validation_freq"})
# Keywords whose value may be "epoch": once in each.
_ONCE_AN_EPOCH = frozenset({"save_freq", "update_freq"})


@dataclass(frozen=True)
class SetKeyword(Edit):
    """`compile(loss)` becomes `compile(loss, jit_compile=False)`, replacing a given value."""

    call: str  # the called name's last part: `compile`, `map`, `DataLoader`, a class of the user's
    keyword: str
    value: str
    position: int | None = None  # of the same parameter where it is given without its name
    imports: tuple[str, ...] = ()
    overrides: bool = False  # also what the user computes: it was measured to be wrong

    def in_words(self) -> str:
        return f"give {self.call}() {self.keyword}={self.value}"

    def rounds(self) -> Rounds:
        if self.keyword in _EVERY_EPOCHS and self.value.isdigit():
            return Rounds(epochs=int(self.value))
        every_epoch = self.keyword in _ONCE_AN_EPOCH and self.value.strip("\"'") == "epoch"
        return Rounds(epochs=int(every_epoch))

    def claim(self) -> Claim:
        return Claim(self.call, self.keyword, self.value)


@dataclass(frozen=True)
class DropKeyword(Edit):
    """`compile(loss, run_eagerly=True)` becomes `compile(loss)`."""

    call: str
    keyword: str

    def in_words(self) -> str:
        return f"remove {self.keyword} from {self.call}()"


@dataclass(frozen=True)
class RenameKeyword(Edit):
    """`LSTM(8, recurrent_dropout=0.2)` becomes `LSTM(8, dropout=0.2)`.

    A call that has the other keyword as well only loses the first.
    """

    call: str
    keyword: str
    to: str

    def in_words(self) -> str:
        return f"give {self.call}() {self.to} instead of {self.keyword}"


@dataclass(frozen=True)
class CallInstead(Edit):
    """`tf.data.Dataset.from_generator(rows, …)` becomes `fitdoctor.from_generator(rows, …)`.

    Another function with the same arguments, under its full name.
    """

    call: str
    to: str
    imports: tuple[str, ...] = ()

    def in_words(self) -> str:
        return f"call {self.to}() instead of {self.call}()"


@dataclass(frozen=True)
class RenameCall(Edit):
    """`model.predict(x, verbose=0)` becomes `model.predict_on_batch(x)`.

    A call with an argument that is neither dropped nor taken is another call, and stays.
    """

    call: str
    to: str
    drop: tuple[str, ...] = ()  # keywords that change nothing there and that the new name refuses
    takes: tuple[str, ...] = ()  # keywords that the new name takes too
    positional: int = 1  # arguments that mean the same without a name
    same_result: bool = True  # False: only where nothing uses what the call returns

    def in_words(self) -> str:
        return f"call {self.to}() instead of {self.call}()"


@dataclass(frozen=True)
class WrapArgument(Edit):
    """`step(x, weight)` becomes `step(x, tf.constant(weight))`."""

    call: str
    argument: int | str  # a position, or a name as in the function's definition
    before: str
    after: str
    definition: Where | None = None  # of the function, whose names give the position
    imports: tuple[str, ...] = ()
    position: int | None = None  # of a named one, where it is known

    def in_words(self) -> str:
        which = f"argument {self.argument + 1}" if isinstance(self.argument, int) else self.argument
        return f"pass {which} of {self.call}() as {self.before}…{self.after}"


@dataclass(frozen=True)
class VmapInstead(Edit):
    """`jax.lax.map(f, rows)` becomes `jax.vmap(f)(rows)`."""

    def in_words(self) -> str:
        return "jax.vmap(f)(rows) instead of jax.lax.map(f, rows)"
