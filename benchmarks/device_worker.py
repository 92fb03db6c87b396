"""Step times of one model at several batch sizes on this process's device, by real fits."""

from __future__ import annotations

import json
import sys
import time

from benchmarks.device_models import build, data

SECONDS = 1.0
# A single step that takes this long is timed once: twenty of them would take minutes.
LONG_STEP_S = 2.0


def step_seconds(name: str, batch: int) -> float:
    """Seconds per step of a fit that is long enough to time, after a warm-up."""
    model, shape = build(name)
    x, y = data(shape, batch)
    model.fit(x, y, batch_size=batch, epochs=1, verbose=0)
    begin = time.perf_counter()
    model.fit(x, y, batch_size=batch, epochs=1, verbose=0)
    if (single := time.perf_counter() - begin) > LONG_STEP_S:
        return single
    x, y = data(shape, batch * 20)
    model.fit(x, y, batch_size=batch, epochs=1, verbose=0)
    begin = time.perf_counter()
    model.fit(x, y, batch_size=batch, epochs=1, verbose=0)
    once = time.perf_counter() - begin
    epochs = max(1, min(200, round(SECONDS / once)))
    best = float("inf")
    for _ in range(2):
        begin = time.perf_counter()
        model.fit(x, y, batch_size=batch, epochs=epochs, verbose=0)
        best = min(best, (time.perf_counter() - begin) / (20 * epochs))
    return best


def main() -> None:
    """`device_worker.py NAME SIZE...` prints one JSON line."""
    name, sizes = sys.argv[1], [int(size) for size in sys.argv[2:]]
    print(json.dumps({str(size): step_seconds(name, size) for size in sizes}))


if __name__ == "__main__":
    main()
