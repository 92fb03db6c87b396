"""How much torch keeps for the gradient of a tensor: all operations it was computed by."""

from __future__ import annotations

from typing import Any

# Counting further says no more.
MOST_NODES = 20_000


def graph_size(tensor: Any) -> int:
    """Operations behind a tensor; a tensor that sums up losses has those of every step."""
    first = getattr(tensor, "grad_fn", None)
    seen = {first} if first is not None else set()
    waiting = list(seen)
    while waiting and len(seen) < MOST_NODES:
        for node, _ in getattr(waiting.pop(), "next_functions", ()):
            if node is not None and node not in seen:
                seen.add(node)
                waiting.append(node)
    return len(seen)
