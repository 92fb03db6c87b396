"""One process of a tf.data service: the dispatcher, or a worker.

    python -m fitdoctor.pack.service dispatcher --port 5050
    python -m fitdoctor.pack.service worker --dispatcher HOST:5050 [--host THIS-HOST] [--port 5051]

Workers run the pipeline of whoever connects; start as many as cores are missing. Splits that a
worker holds when it dies are not given to another one: TensorFlow promises each element at most
once then, and exactly once only while all workers live. Training waits for the dead worker until
one is started again under its address, so give workers a port of their own.
"""

from __future__ import annotations

import argparse
import sys

from fitdoctor.pack.extras import needed

# TensorFlow's own 30 s and 60 s keep training waiting a minute for a worker that is gone.
HEARTBEAT_MS = 1_000
WORKER_TIMEOUT_MS = 5_000


def main() -> int:
    """Serve until ended; prints the port on a line of its own once it is ready."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", choices=("dispatcher", "worker"))
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--dispatcher", default="", metavar="HOST:PORT")
    parser.add_argument("--host", default="localhost", help="how others reach this machine")
    options = parser.parse_args()
    service = needed("tensorflow", "test").data.experimental.service
    if options.role == "dispatcher":
        server = service.DispatchServer(
            service.DispatcherConfig(port=options.port, worker_timeout_ms=WORKER_TIMEOUT_MS)
        )
        port = int(server.target.rpartition(":")[2])
    else:
        if not options.dispatcher:
            parser.error("a worker needs --dispatcher HOST:PORT")
        port = options.port or _free_port()
        server = service.WorkerServer(
            service.WorkerConfig(
                dispatcher_address=options.dispatcher,
                worker_address=f"{options.host}:{port}",
                port=port,
                heartbeat_interval_ms=HEARTBEAT_MS,
            )
        )
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.join()
    return 0


def _free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("", 0))
        return int(one.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
