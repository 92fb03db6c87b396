"""Where the calls were recorded that a cure changes; empty where they were not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Concatenate, ParamSpec

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
from fitdoctor.findings.place import ANYWHERE, Where, line_of, place_of

Given = ParamSpec("Given")

# Positions of parameters in the public signatures of Keras 3, tf.data and torch.
MAP_PARALLEL_CALLS = 1
FIT_BATCH_SIZE = 2
COMPILE_STEPS_PER_EXECUTION = 6
LOADER_NUM_WORKERS = 5

# The functions of Keras that set the precision of all layers.
PRECISION_SETTERS = ("set_dtype_policy", "set_global_policy")
POOL_SIZE = "threading.private_threadpool_size"


def at(
    where: Where | None,
    edit: Callable[Concatenate[Where, Given], Edit],
    *args: Given.args,
    **options: Given.kwargs,
) -> tuple[Edit, ...]:
    """This edit at a place; none where the place is not known."""
    return () if where is None else (edit(where, *args, **options),)


def training_file(view: View) -> Where | None:
    """The file that trains, for calls that were not recorded: it often makes them, too."""
    return Where(view.recorded.file, ANYWHERE) if view.recorded.file else None


def setting_place(view: View) -> Where | None:
    """Where a new statement may be added: in the file that trains, its first line if need be."""
    recorded = view.recorded
    return Where(recorded.file, recorded.line or 1) if recorded.file else None


def record_source(view: View) -> StageCost | None:
    """The stage of a pipeline that reads TFRecord files."""
    return next((one for one in view.stages if one.op.startswith("TFRecordDataset")), None)


def input_place(view: View) -> Where | None:
    """Where the user's class or function that makes the data is written."""
    return place_of(view.input)


def python_place(view: View) -> Where | None:
    """The user's line that makes the data: the pipeline's stage, or the hottest function."""
    stage = next((one for one in view.stages if one.python and one.file), None)
    if stage is not None:
        return place_of(stage)
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
    last = max(before, key=lambda event: event.t, default=None)
    return line_of(last.detail) if last is not None else None


def validated_every(view: View, epochs: int) -> tuple[Edit, ...]:
    """`validation_freq` of the fit.

    Nothing where one call has fewer epochs, and would never validate.
    """
    if (view.recorded.detail.epochs or 0) < epochs:
        return ()
    return at(line_of(view.recorded), SetKeyword, "fit", "validation_freq", str(epochs))


def loader_options(view: View, **options: str) -> tuple[Edit, ...]:
    """Options of the PyDataset or DataLoader, given where it is made.

    A class of the user's that takes no such options gives them to its base class.
    """
    made = view.input.made or view.input.base_init
    where = line_of(made)
    if made is None or where is None:
        return ()
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
    places = [line_of(stage) for stage in stages]
    if not all(places) or any(stage.via for stage in stages):
        return ()
    return tuple(
        SetKeyword(where, "map", "num_parallel_calls", value, MAP_PARALLEL_CALLS, imports)
        for where in dict.fromkeys(places)
        if where is not None
    )


def pool_size(stage: StageCost | None, threads: int) -> tuple[Edit, ...]:
    """A thread pool of the pipeline's own, given at one of its stages."""
    call = (stage.via or stage.op) if stage is not None else ""
    return at(line_of(stage), DatasetOption, call, POOL_SIZE, str(threads))


def cached_after(view: View, stage: StageCost) -> tuple[Edit, ...]:
    """A cache right after a stage, or after the library's function that made it.

    What else that function does after the stage is then kept as well, so it must be the same in
    every pass.
    """
    if stage.via is not None:
        later = _later_in_its_function(view, stage)
        if any(one.random or one.reorders for one in later):
            return ()
    return at(line_of(stage), AppendCall, stage.via or stage.op, CACHE)


def _later_in_its_function(view: View, stage: StageCost) -> list[StageCost]:
    """The stages that the same call of a library's function put after a stage."""
    found = [stage]
    while True:
        readers = [one for one in view.stages if found[-1].n in one.inputs]
        calls = [(one.via, line_of(one)) for one in readers]
        if calls != [(stage.via, line_of(stage))]:
            return found[1:]
        found += readers


def packed_after(stage: StageCost, count_bytes: int, seconds: float) -> tuple[Edit, ...]:
    """What a stage gives stored on disk, and read from there."""
    return at(line_of(stage), ReadPacked, stage.op.removesuffix("V2"), count_bytes, seconds)


def maps_behind(
    view: View, stage: StageCost | None, *, across: frozenset[str] = frozenset({"prefetch"})
) -> tuple[Edit, ...]:
    """The maps that a stage reads, moved after it, the nearest first.

    What is named in `across` may lie between them and stays; anything else ends the search.
    """
    found: list[Edit] = []
    above = stage
    while stage is not None and above is not None and len(above.inputs) == 1:
        above = view.stage(above.inputs[0])
        if above is None or above.op not in {"map", *across}:
            break
        if above.op == "map":
            where = line_of(above)
            if where is None or above.via:
                return ()
            found.append(SwapCalls(where, "map", stage.op))
    return tuple(found)
