"""A process of its own that measures the machine's rates with one backend, and keeps them."""

from __future__ import annotations

import importlib
import os
import sys

from fitdoctor.contract.ceilings import read_ceilings, write_ceilings


def main(backend: str) -> None:
    """Measure with this backend; the caller reads the file afterwards."""
    os.environ["KERAS_BACKEND"] = backend
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    importlib.import_module("keras")
    ceilings = importlib.import_module("fitdoctor.inside.lab.apparatus.ceilings")
    choose = importlib.import_module("fitdoctor.inside.seams.backends.choose")
    found = ceilings.measured_ceilings(choose.backend_named(backend))
    write_ceilings(read_ceilings().with_rates(found))


if __name__ == "__main__":
    main(sys.argv[1])
