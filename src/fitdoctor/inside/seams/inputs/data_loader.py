"""torch's DataLoader in hand-written loops: its iterator marks the steps."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from fitdoctor.inside.ledger.loop_watch import LoopWatch
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.inputs.constructed import watch_construction

DATA_LOADER_MODULE = "torch.utils.data.dataloader"
_LOADER = "_fitdoctor_loader"


def watch_data_loaders(recorder: Recorder, loops: LoopWatch, module: ModuleType) -> None:
    """Time `next` of a DataLoader's iterator, and remember whose iterator it is."""

    def remember(original: Callable[..., Any], self: Any) -> Any:
        iterator = original(self)
        setattr(iterator, _LOADER, self)
        return iterator

    watch_construction(recorder, module.DataLoader)
    recorder.patches.around(module.DataLoader, "_get_iterator", remember)
    recorder.patches.replace(
        module._BaseDataLoaderIter,
        "__next__",
        lambda original: loops.timed_next(original, "DataLoader"),
    )


def loader_of(iterator: Any) -> Any:
    """The DataLoader that made an iterator, or None."""
    return getattr(iterator, _LOADER, None)
