"""Validation beside the training."""

from __future__ import annotations

from typing import Any

from benchmarks.articles.claim import Claim, Timed
from benchmarks.articles.models import mlp, rows
from benchmarks.articles.timing import called


def _validation() -> Timed:
    x, y = rows(320)
    vx, vy = rows(3200)

    def way(**options: Any) -> Any:
        given = {"epochs": 4, "validation_data": (vx, vy), **options}
        return called(mlp(), lambda: (x, y), **given)

    return Timed(
        {
            "validation_batch_size=1": way(validation_batch_size=1),
            "32, the default": way(),
            "1024": way(validation_batch_size=1024),
            "every 4th epoch": way(validation_freq=4),
        }
    )


CLAIMS = (
    Claim(
        "validation-batch",
        "popular advice",
        "The batch size of validation does not matter",
        "false",
        "a pass over the same rows in small batches takes many times as long",
        _validation,
    ),
)
