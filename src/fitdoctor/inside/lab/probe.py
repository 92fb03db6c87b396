"""What a probe is: a name, the result it finds, when it is worth running, and how it is run."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from fitdoctor.contract.results import recorded_name
from fitdoctor.inside.seams.not_available import NotAvailable

if TYPE_CHECKING:
    from fitdoctor.inside.lab.context import Context

__all__ = ["NotAvailable", "Phase", "Probe", "Subject"]

Found = TypeVar("Found")


class Subject(enum.Enum):
    """What is examined."""

    FIT = "fit"
    LOOP = "loop"  # hand-written
    GROUP = "group"  # of repeated calls
    SWEEP = "sweep"  # batch sizes on this device


class Phase(enum.IntEnum):
    """The order of an examination: each phase may look at what earlier ones found."""

    FACTS = 1
    STEP = 2  # the step on one batch in memory
    DEVICE = 3
    LOADING = 4  # the loader alone
    INPUT = 5  # why loading is slow
    STEP_AGAIN = 6
    CALLS = 7  # what each call and each validation pays
    HOST = 8  # what starting a step costs
    LAYERS = 9
    MODEL = 10  # the user's model with one thing changed
    COPIES = 11  # copies of it with one thing changed


class Probe(Generic[Found]):
    """One experiment. A file of `lab/probes` has its probes in `PROBES`; they are discovered.

    Subclasses set `finds` and `phase`, and write `wanted` and `run`.
    """

    finds: type[Found]
    key: str = ""  # of a family of results
    phase: ClassVar[Phase]
    after: ClassVar[tuple[str, ...]] = ()  # names of probes of the same phase that come first
    subjects: ClassVar[frozenset[Subject]] = frozenset({Subject.FIT})
    # Also where a model is spread over several devices: then no step beside the fit's own is made.
    on_spread_models: ClassVar[bool] = False
    # Windows that other processes disturbed are repeated, as long as patience lasts.
    needs_quiet: ClassVar[bool] = True
    longest_s: ClassVar[float] = 45.0  # a probe that takes longer hangs

    @property
    def name(self) -> str:
        """The name in the recording."""
        return recorded_name(self.finds, self.key)

    def wanted(self, context: Context) -> bool:
        """Whether what is known so far makes it worth running."""
        return True

    def run(self, context: Context) -> Found:
        """Run the experiment.

        Raises:
            NotAvailable: it cannot be made here.
        """
        raise NotImplementedError
