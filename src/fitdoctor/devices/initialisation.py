"""What a backend takes to bring a device up: a context, its libraries, the first array on it.

In a training this is spread over imports, model and first step, wherever the script touches the
device first. A process that does nothing else shows it alone, by public calls only.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

LONGEST_S = 120
FIRST_ARRAY = {
    "tensorflow": "import tensorflow as m\nbegin = now()\nm.constant(1.0).numpy()",
    "jax": "import jax.numpy as m\nbegin = now()\nm.zeros(1).block_until_ready()",
    "torch": (
        "import torch as m\nbegin = now()\n"
        "m.zeros(1, device='cuda' if m.cuda.is_available() else 'cpu').cpu()"
    ),
}
PROGRAM = "from time import perf_counter_ns as now\n{first}\nprint('ns', now() - begin)"


def initialisation_ns(
    interpreter: Sequence[str], backend: str, variables: Mapping[str, str]
) -> int | None:
    """Nanoseconds from the imported backend to its first array; None where that failed."""
    first = FIRST_ARRAY.get(backend)
    if first is None:
        return None
    try:
        done = subprocess.run(
            [*interpreter, "-c", PROGRAM.format(first=first)],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    printed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("ns ")]
    return int(printed[-1]) if done.returncode == 0 and printed else None
