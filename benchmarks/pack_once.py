"""Packs once, in a process that has nothing else loaded; prints seconds and memory as JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> int:
    """Pack what the arguments say: source, destination, workers."""
    from benchmarks.pack import peak_rss_mb
    from fitdoctor.pack.packing import Options, pack
    from fitdoctor.pack.sources.opening import open_source

    source, dest, workers, *more = sys.argv[1:]
    started = time.perf_counter()
    opened = open_source(source, decode="decode" in more)
    done = pack(opened, Path(dest), Options(workers=int(workers)))
    seconds = time.perf_counter() - started
    result = {
        "seconds": seconds,
        "records": done.manifest.records,
        # The workers' largest counts for each of them: an upper bound of the sum.
        "peak_rss_mb": peak_rss_mb(int(workers)),
    }
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
