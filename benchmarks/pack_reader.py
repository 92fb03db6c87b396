"""One reader of a pack, in a process of its own: waits for a line, reads its part, prints seconds.

python -m benchmarks.pack_reader PACK KIND INDEX COUNT
"""

from __future__ import annotations

import sys
import time


def main() -> int:
    """Read once to start everything up, then once more when told to."""
    import fitdoctor

    folder, kind, index, count = sys.argv[1:]

    def read() -> int:
        data = fitdoctor.load(
            folder,
            kind=kind,
            batch=256,
            decode=False,
            index=int(index),
            count=int(count),
            fields=("image",),
        )
        return sum(1 for _ in data)

    read()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for _ in sys.stdin:
        started = time.perf_counter()
        read()
        sys.stdout.write(f"{time.perf_counter() - started}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
