"""Edits of a chain of calls, and of what a dataset reads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fitdoctor.findings.edits.edit import TENSORFLOW, Claim, Edit
from fitdoctor.findings.place import Where
from fitdoctor.findings.rounds import NO_ROUNDS, Rounds
from fitdoctor.units import duration, size

CACHE = ".cache()"


@dataclass(frozen=True)
class AppendCall(Edit):
    """`.map(decode)` becomes `.map(decode).cache()`."""

    call: str
    text: str
    imports: tuple[str, ...] = ()

    def in_words(self) -> str:
        return f"put {self.text} right after {self.call}()"

    def rounds(self) -> Rounds:
        return Rounds(settles=1) if self.text == CACHE else NO_ROUNDS

    def claim(self) -> Claim:
        # A cache after a map that is then moved away would keep something else.
        return Claim(self.call, "", self.in_words())


@dataclass(frozen=True)
class ReadPacked(Edit):
    """`.map(decode)` becomes `.map(decode).apply(fitdoctor.packed("DEST"))`.

    The first run writes what the pipeline made so far, and later runs read it. Where to, only
    the user can say, so the edit is made when a folder is named.
    """

    call: str
    count_bytes: int  # that the folder will hold
    seconds: float  # that writing takes, once
    dest: str | None = None

    def in_words(self) -> str:
        dest = "DEST" if self.dest is None else self.dest
        return (
            f'put .apply(fitdoctor.packed("{dest}")) right after {self.call}(); '
            f"the first run {self.cost()}"
        )

    def claim(self) -> Claim:
        return Claim(self.call, "", self.in_words())

    def stored_in(self, folder: str | None) -> ReadPacked:
        return replace(self, dest=folder)

    def cost(self) -> str:
        """What the first run writes, and how long that takes."""
        return f"writes about {size(self.count_bytes)} in {duration(self.seconds * 1e9)}"


@dataclass(frozen=True)
class DatasetOption(Edit):
    """`.map(read)` becomes `.map(read).with_options(options)`, with the option set before.

    Options hold for the whole pipeline, wherever in it they are given.
    """

    call: str
    option: str  # as in tf.data.Options: `threading.private_threadpool_size`
    value: str
    imports: tuple[str, ...] = (TENSORFLOW,)

    def in_words(self) -> str:
        return f"give the dataset tf.data.Options with {self.option} = {self.value}"


@dataclass(frozen=True)
class SwapCalls(Edit):
    """`.map(f).batch(n)` becomes `.batch(n).map(f)`; both in one chain.

    What lies between the two stays where it is: the first is moved right after the second.
    Where others also use what the first returns, it stays for them: `part = whole.skip(n)`
    becomes `part = source.skip(n).map(f)`.
    """

    where: Where  # of the first
    first: str
    second: str
    second_where: Where | None = None  # needed only where the two are in different statements

    def in_words(self) -> str:
        return f"put {self.second}() before {self.first}()"

    def claim(self) -> Claim:
        return Claim(self.first, "", self.in_words())


@dataclass(frozen=True)
class ReadAll(Edit):
    """`file["images"]` becomes `file["images"][:]`: an HDF5 dataset is read into memory."""

    name: str  # of the dataset in the file

    def in_words(self) -> str:
        return f'read ["{self.name}"] into memory where it is opened: ["{self.name}"][:]'


@dataclass(frozen=True)
class ArrangeCalls(Edit):
    """`.map(decode).map(cast).batch(n)` becomes `.map(decode).cache().batch(n).map(cast)`.

    The calls may be links of one chain, or statements of one variable that follow each other.
    """

    calls: tuple[tuple[int, str], ...]  # the line and name of each, as written
    order: tuple[int, ...]  # which of them comes first, second, ...
    cached: int | None = None  # which of them has a cache right after it

    def in_words(self) -> str:
        written = [f"{name}() of line {line}" for line, name in self.calls]
        names = [written[n] + (" and .cache()" if n == self.cached else "") for n in self.order]
        return "put the calls in this order: " + ", ".join(names)

    def rounds(self) -> Rounds:
        return NO_ROUNDS if self.cached is None else Rounds(settles=1)

    def claim(self) -> Claim:
        return Claim(self.calls[0][1], "", self.in_words())
