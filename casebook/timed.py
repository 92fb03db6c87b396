"""`python -m casebook.timed SCRIPT`: seconds of training per unit of CASEBOOK_SCALE.

The script is run several times in this one process, with the imports behind it: once to warm
up, once at a small scale, and once at larger ones until the extra training is long enough to
time. The difference of the last two is training alone; data making and compilation cancel out.
Each of the two is the shorter of two runs, less TensorFlow's chance waits between epochs.
"""

from __future__ import annotations

import gc
import os
import runpy
import sys
import time

from casebook.iterator_waits import IteratorWaits

WAITS = IteratorWaits()
BASE = 0.1  # counts in the scripts are multiples of 10 at scale 1
LARGEST = 40.0
ENOUGH_S = 2.5
# Imports, data and compiling take as long in both runs, but never quite: their difference has to
# be small beside the training that is timed.
ENOUGH_OF_BASE = 0.6


def main(script: str) -> None:
    """Print the seconds as the last line."""
    sys.argv = [script]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    run(script, BASE)
    base_s = shorter_of_two(script, BASE)
    enough_s = max(ENOUGH_S, ENOUGH_OF_BASE * base_s)
    extra = BASE
    while True:
        extra_s = run(script, BASE + extra) - base_s
        if extra_s >= enough_s or extra >= LARGEST:
            break
        extra = min(
            LARGEST, tenths(extra * min(8.0, max(2.0, 1.3 * enough_s / max(extra_s, 0.01))))
        )
    extra_s = min(extra_s, run(script, BASE + extra) - base_s)
    print(f"\ncasebook-seconds {extra_s / extra:.9f}", flush=True)
    # Threads of a loader may still run; the measurement is done.
    os._exit(0)


def tenths(scale: float) -> float:
    """A scale in whole tenths."""
    return round(scale * 10) / 10


def shorter_of_two(script: str, scale: float) -> float:
    """Wall seconds of the script at a scale, without a chance delay."""
    return min(run(script, scale), run(script, scale))


def run(script: str, scale: float) -> float:
    """Wall seconds of the script at a scale."""
    os.environ["CASEBOOK_SCALE"] = repr(round(scale, 1))
    gc.collect()  # endless datasets of the run before must not go on in the background
    WAITS.watch()
    begin, waited = time.perf_counter(), WAITS.seconds
    runpy.run_path(script, run_name="__main__")
    return time.perf_counter() - begin - (WAITS.seconds - waited)


if __name__ == "__main__":
    main(sys.argv[1])
