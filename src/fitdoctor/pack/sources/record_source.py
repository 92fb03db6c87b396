"""Records that are stored as they are: the shards then hold nothing of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass
class Records:
    """Bytes that come one after another; no schema says what is in them."""

    identity: dict[str, Any]
    opened: Callable[[], Iterable[bytes]]

    def facts(self) -> dict[str, Any]:
        """What must be the same for a pack to be continued."""
        return {"kind": "records", **self.identity}

    def elements(self) -> Iterator[tuple[str, Any]]:
        """All records, from the first one."""
        for number, record in enumerate(self.opened()):
            yield f"record {number}", record
