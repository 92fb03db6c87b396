"""Reads the loaders of one case in turn; the request comes on stdin, the rates go to stdout."""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any


class Captured(BaseException):
    """Carries what a script passed to `fit`, or the dataset that it began to read."""

    def __init__(self, x: Any, y: Any, batch_size: int | None) -> None:
        super().__init__()
        self.x, self.y, self.batch_size = x, y, batch_size


def main() -> None:
    """Print rows per second of each loader, round by round."""
    request = json.load(sys.stdin)
    from fitdoctor.child import start

    start(os.path.join(tempfile.mkdtemp(), "a.rec"), {"probes": False, "continue": True})
    slow, fixed = data_of(request["slow"]), data_of(request["fixed"])
    loaders = {"as_written": dataset_of(slow), "expert": dataset_of(fixed)}
    loaders["autotune"] = by_hand(loaders["as_written"])
    if request["plan"]:
        from fitdoctor.recorder.inputs.tf_plan import carried_out

        loaders["planned"] = carried_out(loaders["as_written"], request["plan"])
    readers = {name: endless(dataset) for name, dataset in loaders.items()}
    for reader in readers.values():
        fill(reader)
    rates: dict[str, list[float]] = {name: [] for name in readers}
    for number in range(request["rounds"]):
        names = list(readers) if number % 2 == 0 else list(reversed(readers))
        for name in names:
            rates[name].append(rate(readers[name], request["seconds"]))
    print(json.dumps(rates), flush=True)
    os._exit(0)  # iterators of endless datasets may take seconds to let go


def data_of(script: str) -> Captured:
    """What the script trains on; it is stopped there."""
    import keras
    import tensorflow as tf

    def fit(model: Any, x: Any = None, y: Any = None, batch_size: Any = None, **_: Any) -> None:
        raise Captured(x, y, batch_size)

    def read(dataset: Any) -> Any:
        if sys._getframe(1).f_code.co_filename == script:
            raise Captured(dataset, None, None)
        return original_iter(dataset)

    original_fit, original_iter = keras.Model.fit, tf.data.Dataset.__iter__
    keras.Model.fit, tf.data.Dataset.__iter__ = fit, read
    sys.argv, sys.path[0] = [script], os.path.dirname(script)
    try:
        runpy.run_path(script, run_name="__main__")
    except Captured as found:
        return found
    finally:
        keras.Model.fit, tf.data.Dataset.__iter__ = original_fit, original_iter
    raise SystemExit(f"{script} neither trained nor read a dataset")


def dataset_of(data: Captured) -> Any:
    """The dataset that Keras reads."""
    import tensorflow as tf
    from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter

    if isinstance(data.x, tf.data.Dataset):
        return data.x
    adapter = ArrayDataAdapter(data.x, data.y, batch_size=data.batch_size or 32, shuffle=True)
    return adapter.get_tf_dataset()


def by_hand(dataset: Any) -> Any:
    """AUTOTUNE on every map, and a prefetch at the end."""
    import tensorflow as tf

    from fitdoctor.recorder.inputs.tf_data import walk
    from fitdoctor.recorder.inputs.tf_pipeline import rebuilt, replayed

    maps = {id(stage.dataset) for stage in walk(dataset) if stage.op in ("map", "interleave")}

    def change(one: Any, inputs: tuple[Any, ...]) -> Any:
        if id(one) not in maps:
            return None
        return replayed(one, inputs, num_parallel_calls=tf.data.AUTOTUNE)

    return rebuilt(dataset, change).prefetch(tf.data.AUTOTUNE)


def endless(dataset: Any) -> Iterator[Any]:
    """Pass after pass; every pass starts anew, as epochs do."""
    while True:
        yield None  # a pass begins
        yield from dataset


def fill(reader: Iterator[Any]) -> None:
    """Read one whole pass, so that caches are full, or ten seconds of an endless one."""
    begin, passes = time.perf_counter(), 0
    for batch in reader:
        passes += batch is None
        if passes == 2 or time.perf_counter() - begin > 10:
            return


def rate(reader: Iterator[Any], seconds: float) -> float:
    """Rows per second."""
    import tensorflow as tf

    begin, rows = time.perf_counter(), 0
    for batch in reader:
        if batch is not None:
            rows += int(tf.nest.flatten(batch)[0].shape[0])
        if time.perf_counter() - begin >= seconds:
            return rows / (time.perf_counter() - begin)
    return 0.0


if __name__ == "__main__":
    main()
