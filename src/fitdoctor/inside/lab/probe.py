"""What a probe is: a name, the result it finds, when it is worth running, and how it is run."""

from __future__ import annotations

import enum
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, get_args

from fitdoctor.contract.results import recorded_name
from fitdoctor.inside.seams.not_available import NotAvailable

if TYPE_CHECKING:
    from fitdoctor.inside.lab.context import Context

__all__ = ["STEPS", "NotAvailable", "Phase", "Probe", "Subject", "probes_of"]

Found = TypeVar("Found")


class Subject(enum.Enum):
    """What is examined."""

    FIT = "fit"
    LOOP = "loop"  # hand-written
    GROUP = "group"  # of repeated calls
    SWEEP = "sweep"  # batch sizes on this device


# Whatever has a training step of its own.
STEPS = frozenset({Subject.FIT, Subject.LOOP, Subject.GROUP})


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
    """One experiment. The probes in the files of `lab/probes` are discovered.

    Subclasses say what they find (`Probe[FrozenBatch]`), set `phase`, and write `wanted` and
    `run`.
    """

    finds: type[Found]
    keys: ClassVar[tuple[str, ...]] = ("",)  # of a family of results: one probe for each
    phase: ClassVar[Phase]
    after: ClassVar[tuple[str, ...]] = ()  # names of probes of the same phase that come first
    subjects: ClassVar[frozenset[Subject]] = frozenset({Subject.FIT})
    # Also where a model is spread over several devices: then no step beside the fit's own is made.
    on_spread_models: ClassVar[bool] = False
    # Windows that other processes disturbed are repeated, as long as patience lasts.
    needs_quiet: ClassVar[bool] = True
    longest_s: ClassVar[float] = 45.0  # a probe that takes longer hangs

    def __init_subclass__(cls) -> None:
        for base in vars(cls).get("__orig_bases__", ()):
            (found,) = get_args(base)
            if isinstance(found, type):
                cls.finds = found

    def __init__(self, key: str = "") -> None:
        self.key = key or self.keys[0]

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


def probes_of(module: ModuleType) -> list[Probe[object]]:
    """The probes that a module defines, in the order of their classes and keys."""
    kinds = [one for one in vars(module).values() if isinstance(one, type)]
    own = [one for one in kinds if issubclass(one, Probe) and one.__module__ == module.__name__]
    return [kind(key) for kind in own for key in kind.keys]
