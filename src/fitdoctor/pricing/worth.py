"""From which gain on a change is worth naming, where a rule has no reason of its own."""

from __future__ import annotations

# Below 10 %, a cure and a noisy neighbour look the same on few cores.
WORTH_GAIN = 1.10
