"""Reads from HDF5 files: how long they take, dataset by dataset."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from fitdoctor.inside.ledger.callsite import Place, user_place
from fitdoctor.inside.ledger.recorder import Recorder

MODULE = "h5py"


@dataclass
class DatasetReads:
    """Totals of the reads of one dataset in one file."""

    file: str
    name: str
    place: Place | None
    count: int = 0
    ns: int = 0
    rows: int = 0
    opened: Place | None = None  # where the file was asked for it
    openings: int = 0


class Hdf5Reads:
    """Totals of `h5py.Dataset.__getitem__`, by dataset."""

    def __init__(self) -> None:
        self.by_dataset: dict[tuple[str, str], DatasetReads] = {}
        self._opened: dict[tuple[str, str], tuple[Place | None, int]] = {}

    def watch(self, recorder: Recorder, module: ModuleType) -> None:
        """Time every read; a few microseconds on a call that opens and decompresses chunks."""

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def getitem(dataset: Any, *args: Any, **kwargs: Any) -> Any:
                begin = time.perf_counter_ns()
                result = original(dataset, *args, **kwargs)
                # What a probe reads is not the training's.
                if not recorder.suspended:
                    self._note(dataset, result, time.perf_counter_ns() - begin)
                return result

            return getitem

        def make_opening(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def getitem(group: Any, *args: Any, **kwargs: Any) -> Any:
                result = original(group, *args, **kwargs)
                if isinstance(result, module.Dataset) and not recorder.suspended:
                    self._note_opening(result)
                return result

            return getitem

        recorder.patches.replace(module.Dataset, "__getitem__", make)
        recorder.patches.replace(module.Group, "__getitem__", make_opening)

    def _note_opening(self, dataset: Any) -> None:
        key = (str(dataset.file.filename), str(dataset.name))
        before = self._opened.get(key)
        self._opened[key] = (user_place(3), 1) if before is None else (before[0], before[1] + 1)

    def _note(self, dataset: Any, result: Any, ns: int) -> None:
        # Names, not the object: an open handle must not be kept alive by us.
        key = (str(dataset.file.filename), str(dataset.name))
        reads = self.by_dataset.get(key)
        if reads is None:
            reads = self.by_dataset[key] = DatasetReads(*key, user_place(3))
        reads.count += 1
        reads.ns += ns
        reads.rows += len(result) if getattr(result, "ndim", 0) == dataset.ndim > 0 else 1

    def heaviest_first(self) -> list[DatasetReads]:
        """The datasets that were read, the one that took most time first."""
        for key, reads in self.by_dataset.items():
            reads.opened, reads.openings = self._opened.get(key, (None, 0))
        return sorted(self.by_dataset.values(), key=lambda reads: -reads.ns)
