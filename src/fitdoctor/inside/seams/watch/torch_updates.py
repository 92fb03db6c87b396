"""Updates by torch's own optimizers: the steps of torch loops without a DataLoader."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from fitdoctor.inside.ledger.loop_watch import LoopWatch
from fitdoctor.inside.ledger.recorder import Recorder

OPTIMIZER_MODULE = "torch.optim.optimizer"


def watch_torch_updates(recorder: Recorder, loops: LoopWatch, module: ModuleType) -> None:
    """Have torch report every update, by its public hook for all optimizers."""

    def on_update(_optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if recorder.calls or recorder.suspended:
            return
        if recorder.loops:
            recorder.loops[-1].eager_updates += 1
            return
        loops.called("optimizer", lambda: None)

    handle = module.register_optimizer_step_pre_hook(on_update)
    recorder.patches.later(handle.remove)
