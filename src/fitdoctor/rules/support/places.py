"""Where the calls were recorded that a cure changes; empty where they were not."""

from __future__ import annotations

from collections.abc import Iterable

from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import (
    CACHE,
    AppendCall,
    DatasetOption,
    Edit,
    ReadPacked,
    SetKeyword,
    SwapCalls,
)
from fitdoctor.findings.place import Where, place_of

# Positions of parameters in the public signatures of Keras 3, tf.data and torch.
MAP_PARALLEL_CALLS = 1
FIT_BATCH_SIZE = 2
COMPILE_STEPS_PER_EXECUTION = 6
LOADER_NUM_WORKERS = 5

POOL_SIZE = "threading.private_threadpool_size"


def stage_place(stage: StageCost | None) -> Where | None:
    """Where a pipeline's stage is written."""
    if stage is None or not stage.file or not stage.line:
        return None
    return Where(stage.file, stage.line)


def record_source(view: View) -> StageCost | None:
    """The stage of a pipeline that reads TFRecord files."""
    return next((one for one in view.stages if one.op.startswith("TFRecordDataset")), None)


def input_place(view: View) -> Where | None:
    """Where the user's class or function that makes the data is written."""
    made = view.input
    return Where(made.file, made.line or 0) if made.file else None


def python_place(view: View) -> Where | None:
    """The user's line that makes the data: the pipeline's stage, or the hottest function."""
    for stage in view.stages:
        if stage.python and stage.file:
            return Where(stage.file, stage.line or 0)
    if view.loader is not None and view.loader.hot_line is not None:
        return Where(*view.loader.hot_line[:2])
    return input_place(view) or place_of(view.recorded)


def compile_place(view: View) -> Where | None:
    """Where the workload's model was last compiled before it was trained."""
    model = view.recorded.detail.model_number
    if model is None:
        return None
    first = min((call.t for call in view.recorded.calls), default=view.recorded.t)
    calls = [event for event in view.compile_calls if event.detail.model == model]
    before = [event for event in calls if event.t <= first]
    if not before:
        return None
    detail = max(before, key=lambda event: event.t).detail
    return Where(detail.file, detail.line) if detail.file and detail.line else None


def validated_every(view: View, epochs: int) -> tuple[Edit, ...]:
    """`validation_freq` of the fit.

    Nothing where one call has fewer epochs, and would never validate.
    """
    recorded = view.recorded
    asked = recorded.detail.epochs
    if not recorded.file or not recorded.line or asked is None or asked < epochs:
        return ()
    where = Where(recorded.file, recorded.line)
    return (SetKeyword(where, "fit", "validation_freq", str(epochs)),)


def loader_options(view: View, **options: str) -> tuple[Edit, ...]:
    """Options of the PyDataset or DataLoader, given where it is made.

    A class of the user's that takes no such options gives them to its base class.
    """
    made = view.input.made or view.input.base_init
    if made is None or not made.file or not made.line:
        return ()
    where = Where(made.file, made.line)
    positions = {"num_workers": LOADER_NUM_WORKERS} if made.call == "DataLoader" else {}
    return tuple(
        SetKeyword(where, made.call, keyword, value, positions.get(keyword))
        for keyword, value in options.items()
    )


def parallel_calls(
    stages: Iterable[StageCost], value: str, imports: tuple[str, ...] = ()
) -> tuple[Edit, ...]:
    """`num_parallel_calls` on these maps; nothing where one of them has no place."""
    stages = list(stages)
    places = [stage_place(stage) for stage in stages]
    if not all(places) or any(stage.via for stage in stages):
        return ()
    return tuple(
        SetKeyword(where, "map", "num_parallel_calls", value, MAP_PARALLEL_CALLS, imports)
        for where in dict.fromkeys(places)
        if where is not None
    )


def pool_size(stage: StageCost | None, threads: int) -> tuple[Edit, ...]:
    """A thread pool of the pipeline's own, given at one of its stages."""
    where = stage_place(stage)
    if where is None or stage is None:
        return ()
    return (DatasetOption(where, stage.via or stage.op, POOL_SIZE, str(threads)),)


def cached_after(view: View, stage: StageCost) -> tuple[Edit, ...]:
    """A cache right after a stage, or after the library's function that made it.

    What else that function does after the stage is then kept as well, so it must be the same in
    every pass.
    """
    where = stage_place(stage)
    if where is None:
        return ()
    if stage.via is None:
        return (AppendCall(where, stage.op, CACHE),)
    if any(one.random or one.reorders for one in _later_in_its_function(view, stage)):
        return ()
    return (AppendCall(where, stage.via, CACHE),)


def _later_in_its_function(view: View, stage: StageCost) -> list[StageCost]:
    """The stages that the same call of a library's function put after a stage."""
    found: list[StageCost] = []
    last = stage
    while True:
        readers = [one for one in view.stages if last.number in one.inputs]
        same = [one for one in readers if (one.via, stage_place(one)) == _call_of(stage)]
        if len(readers) != 1 or not same:
            return found
        last = same[0]
        found.append(last)


def _call_of(stage: StageCost) -> tuple[str | None, Where | None]:
    return stage.via, stage_place(stage)


def packed_after(stage: StageCost, count_bytes: int, seconds: float) -> tuple[Edit, ...]:
    """What a stage gives stored on disk, and read from there."""
    where = stage_place(stage)
    call = stage.op.removesuffix("V2")
    return (ReadPacked(where, call, count_bytes, seconds),) if where is not None else ()


def maps_behind(
    view: View, stage: StageCost | None, *, across: frozenset[str] = frozenset({"prefetch"})
) -> tuple[Edit, ...]:
    """The maps that a stage reads, moved after it, the nearest first.

    What is named in `across` may lie between them and stays; anything else ends the search.
    """
    if stage is None:
        return ()
    found: list[Edit] = []
    by_number = {one.number: one for one in view.stages}
    inputs = stage.inputs
    while len(inputs) == 1 and inputs[0] in by_number:
        above = by_number[inputs[0]]
        if above.op != "map" and above.op not in across:
            break
        if above.op == "map":
            where = stage_place(above)
            if where is None or above.via:
                return ()
            found.append(SwapCalls(where, "map", stage.op))
        inputs = above.inputs
    return tuple(found)
