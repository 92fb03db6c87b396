"""`ModelCheckpoint(save_freq=1)` saves after every batch: 4 times slower (measured)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fitdoctor.lint.module import Module, is_number, keyword
from fitdoctor.lint.pattern import Match, pattern


@pattern(
    code="CB003",
    name="frequent-checkpoint",
    evidence="1.8 to 4 times slower, by the size of the model",
    measured_by="save-every-batch",
    example='keras.callbacks.ModelCheckpoint("model.keras", save_freq=1)',
)
def find(module: Module) -> Iterator[Match]:
    """A number of batches where mostly an epoch was meant."""
    for node in module.nodes(ast.Call):
        name = module.dotted(node.func).split(".")[-1]
        once = is_number(keyword(node, "save_freq"), 1)
        if name in ("ModelCheckpoint", "BackupAndRestore") and once:
            yield node, f'{name}(save_freq=1) saves after every batch; use save_freq="epoch"'
