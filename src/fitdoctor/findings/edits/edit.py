"""What every edit is: a place, words for it, and how long its effect takes to show."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from fitdoctor.findings.place import Where
from fitdoctor.findings.rounds import NO_ROUNDS, Rounds

TENSORFLOW = "import tensorflow as tf"
JAX = "import jax"
FITDOCTOR = "import fitdoctor"
KERAS = "import keras"
OS = "import os"
FUNCTOOLS = "import functools"


class Claim(NamedTuple):
    """What an edit decides about a call; no other cure may decide it differently."""

    call: str
    keyword: str  # empty: the call's place in its chain
    value: str

    def taken_by(self, rule: str) -> str:
        """Why another edit of the same call cannot be made."""
        if self.keyword:
            return f"{rule} sets {self.keyword}={self.value} in the same call"
        return f"{rule} changes the order of calls here: {self.value}"


@dataclass(frozen=True)
class Edit(ABC):
    """One change of the user's source; the fields say what, `where` says at which line."""

    where: Where

    @abstractmethod
    def in_words(self) -> str:
        """What to do, for someone who does it by hand."""

    def rounds(self) -> Rounds:
        """How many steps or epochs a proof must see to see all of its effect."""
        return NO_ROUNDS

    def claim(self) -> Claim | None:
        """What no other edit of the same call may contradict."""
        return None

    def stored_in(self, folder: str | None) -> Edit:
        """The same edit with a folder for the data that it stores; most store none."""
        return self

    def to_json(self) -> dict[str, Any]:
        return {"edit": type(self).__name__, **asdict(self), "in_words": self.in_words()}
