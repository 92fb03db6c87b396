"""`ModelCheckpoint(save_freq=1)` saves after every batch: 4 times slower (measured)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fitdoctor.lint.module import Module, keyword
from fitdoctor.lint.pattern import Match


class SaveEveryBatch:
    """A number of batches where mostly an epoch was meant."""

    code = "CB003"
    name = "frequent-checkpoint"
    evidence = "1.8 to 4 times slower, by the size of the model"
    measured_by = "save-every-batch"
    example = 'keras.callbacks.ModelCheckpoint("model.keras", save_freq=1)'

    def find(self, module: Module) -> Iterator[Match]:
        """`ModelCheckpoint(…, save_freq=1)` and `BackupAndRestore(…, save_freq=1)`."""
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call):
                continue
            name = module.dotted(node.func).split(".")[-1]
            given = keyword(node, "save_freq")
            once = isinstance(given, ast.Constant) and given.value == 1 and given.value is not True
            if name in ("ModelCheckpoint", "BackupAndRestore") and once:
                yield node, f'{name}(save_freq=1) saves after every batch; use save_freq="epoch"'


PATTERN = SaveEveryBatch()
