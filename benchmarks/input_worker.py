"""Reads the loaders of one case in turn; the request comes on stdin, the rates go to stdout."""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any


@dataclass(eq=False)
class Captured(BaseException):
    """Carries what a script passed to `fit`, or the dataset that it began to read."""

    x: Any
    y: Any = None
    batch_size: int | None = None
    shuffle: bool = True
    steps: int | None = None


def main() -> None:
    """Print rows per second of each loader, round by round."""
    request = json.load(sys.stdin)
    from fitdoctor.contract.options import RunOptions
    from fitdoctor.inside.wiring import start

    start(os.path.join(tempfile.mkdtemp(), "a.rec"), RunOptions(probes=False, keep_running=True))
    slow, fixed = data_of(request["slow"]), data_of(request["fixed"])
    readers = {"as_written": passes(slow), "expert": passes(fixed)}
    if request["cured"]:
        readers["planned"] = passes(data_of(request["cured"]))
    if request["autotune"]:
        readers["autotune"] = passes(replace(slow, x=by_hand(dataset_of(slow)), y=None))
    for reader in readers.values():
        fill(reader)
    rates: dict[str, list[float]] = {name: [] for name in readers}
    for number in range(request["rounds"]):
        names = list(readers) if number % 2 == 0 else list(reversed(readers))
        for name in names:
            drain(readers[name])
            rates[name].append(rate(readers[name], request["seconds"]))
    print(json.dumps(rates), flush=True)
    os._exit(0)  # iterators of endless datasets may take seconds to let go


def data_of(script: str) -> Captured:
    """What the script trains on; it is stopped there."""
    import keras

    def fit(
        model: Any,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        *,
        shuffle: bool = True,
        steps_per_epoch: int | None = None,
        **_: Any,
    ) -> None:
        raise Captured(x, y, batch_size, shuffle, steps_per_epoch)

    restore = reads_end_at(script)
    original_fit = keras.Model.fit
    keras.Model.fit = fit
    sys.argv, sys.path[0] = [script], os.path.dirname(script)
    try:
        runpy.run_path(script, run_name="__main__")
    except Captured as found:
        return found
    finally:
        keras.Model.fit = original_fit
        restore()
    raise SystemExit(f"{script} neither trained nor read a dataset")


def reads_end_at(script: str) -> Callable[[], None]:
    """A dataset that the script reads in a loop of its own is captured as well."""
    with open(script, encoding="utf-8") as file:
        if "tensorflow" not in file.read():
            return lambda: None
    import tensorflow as tf

    def read(dataset: Any) -> Any:
        if sys._getframe(1).f_code.co_filename == script:
            raise Captured(dataset)
        return original(dataset)

    original = tf.data.Dataset.__iter__
    tf.data.Dataset.__iter__ = read
    return lambda: setattr(tf.data.Dataset, "__iter__", original)


def dataset_of(data: Captured) -> Any:
    """The tf.data dataset that Keras reads."""
    import tensorflow as tf
    from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter

    if isinstance(data.x, tf.data.Dataset):
        return data.x
    adapter = ArrayDataAdapter(
        data.x, data.y, batch_size=data.batch_size or 32, shuffle=data.shuffle
    )
    return adapter.get_tf_dataset()


def passes(data: Captured) -> Iterator[Any]:
    """Batches as Keras gets them, pass after pass; None where one begins.

    Every pass starts anew, as epochs do.
    """
    import keras
    from keras.src.trainers.data_adapters import get_data_adapter

    adapter = get_data_adapter(
        x=data.x,
        y=data.y,
        batch_size=data.batch_size,
        shuffle=data.shuffle,
        steps_per_epoch=data.steps,
    )
    get = {
        "tensorflow": adapter.get_tf_dataset,
        "jax": adapter.get_jax_iterator,
        "torch": adapter.get_torch_dataloader,
    }[keras.backend.backend()]
    source = get() if keras.backend.backend() == "tensorflow" else None
    while True:
        yield None
        adapter.on_epoch_begin()
        yield from (get() if source is None else source)
        adapter.on_epoch_end()


def by_hand(dataset: Any) -> Any:
    """AUTOTUNE on every map, and a prefetch at the end."""
    import tensorflow as tf

    from fitdoctor.inside.seams.inputs.tf_pipeline import rebuilt, replayed
    from fitdoctor.inside.seams.inputs.tf_stages import walk

    maps = {id(stage.dataset) for stage in walk(dataset) if stage.op in ("map", "interleave")}

    def change(one: Any, inputs: tuple[Any, ...]) -> Any:
        if id(one) not in maps:
            return None
        return replayed(one, inputs, num_parallel_calls=tf.data.AUTOTUNE)

    return rebuilt(dataset, change).prefetch(tf.data.AUTOTUNE)


def fill(reader: Iterator[Any]) -> None:
    """Read one whole pass, so that caches are full, or ten seconds of an endless one."""
    begin, passes = time.perf_counter(), 0
    for batch in reader:
        passes += batch is None
        if passes == 2 or time.perf_counter() - begin > 10:
            return


def drain(reader: Iterator[Any]) -> None:
    """Read what was loaded while others were timed: a queue of ten or so, and some more."""
    begin, batches = time.perf_counter(), 0
    for batch in reader:
        batches += batch is not None
        taken = time.perf_counter() - begin
        if (batches >= 16 and taken > 0.3) or taken > 4:
            return


def rate(reader: Iterator[Any], seconds: float) -> float:
    """Rows per second."""
    import keras

    begin, rows = time.perf_counter(), 0
    for batch in reader:
        if batch is not None:
            rows += int(keras.tree.flatten(batch)[0].shape[0])
        if time.perf_counter() - begin >= seconds:
            return rows / (time.perf_counter() - begin)
    return 0.0


if __name__ == "__main__":
    main()
