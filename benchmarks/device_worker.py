"""Step times of one model at several batch sizes on this process's device, by real fits."""

from __future__ import annotations

import json
import sys
import time

from benchmarks.device_models import build, data

SECONDS = 1.0
MOST_STEPS = 20


def step_seconds(name: str, batch: int) -> float:
    """Seconds per step of fits that are long enough to time, after a warm-up.

    Epochs of as many steps as fit into a second: one of a step that takes half a minute.
    """
    model, shape = build(name)
    x, y = data(shape, batch)
    model.fit(x, y, batch_size=batch, epochs=1, verbose=0)
    begin = time.perf_counter()
    model.fit(x, y, batch_size=batch, epochs=1, verbose=0)
    single = time.perf_counter() - begin
    steps = max(1, min(MOST_STEPS, round(SECONDS / single)))
    if steps == 1:
        return single
    x, y = data(shape, batch * steps)
    model.fit(x, y, batch_size=batch, epochs=1, verbose=0)
    begin = time.perf_counter()
    model.fit(x, y, batch_size=batch, epochs=1, verbose=0)
    once = time.perf_counter() - begin
    epochs = max(1, min(200, round(SECONDS / once)))
    best = float("inf")
    for _ in range(2):
        begin = time.perf_counter()
        model.fit(x, y, batch_size=batch, epochs=epochs, verbose=0)
        best = min(best, (time.perf_counter() - begin) / (steps * epochs))
    return best


def main() -> None:
    """`device_worker.py NAME SIZE...` prints one JSON line."""
    name, sizes = sys.argv[1], [int(size) for size in sys.argv[2:]]
    print(json.dumps({str(size): step_seconds(name, size) for size in sizes}))


if __name__ == "__main__":
    main()
