"""What a faster loader would leave of a step."""

from __future__ import annotations

from fitdoctor.analysis.loader import Loader
from fitdoctor.analysis.pipeline import Changed, Trial
from fitdoctor.analysis.view import View
from fitdoctor.intervals import Interval
from fitdoctor.pricing.overlap import StepModel
from fitdoctor.pricing.worth import WORTH_GAIN

# The loader must explain at least this share of the time that input costs.
EXPLAINED_SHARE = 0.5
# The same for a loader that holds Python's lock, and so is in the step's way as well.
LOCKED_SHARE = 0.25
# The lock counts as held when at least this share of the samples saw it held.
LOCK_SHARE = 0.5
# The low end of the gain that all input cured would give.
LOWEST_GAIN = 1.03
# Of a step's time beyond a frozen one and its loading, this part is Keras's own loop, where that
# was not measured.
STAYS = 0.4
# A step of less than this share of its loading: whether it is hidden beside it cannot be told from
# their sum, since loading itself varies by as much.
UNTOLD = 0.15
# Loader and step take turns: less than this part of the shorter one is hidden.
LITTLE_OVERLAP = 0.4
# Keras's queue of a PyDataset holds ten batches.
MOST_QUEUED = 10.0
# At the end of an epoch, Keras waits this long to see that the queue of its workers stays empty.
QUEUE_ENDS_NS = 1e8
# A loader of up to this many steps is hidden, or nearly so, when it runs beside the step.
NEARLY_HIDDEN = 1.5


def input_is_slow(view: View) -> bool:
    """Whether real steps take longer than frozen ones, and the loader explains it."""
    gain, loader = view.input_gain, view.loader
    if gain is None or loader is None or view.frozen is None:
        return False
    if gain.value < WORTH_GAIN or gain.low < LOWEST_GAIN:
        return False
    lost = view.core.value - view.ceiling_step.value
    return loader.ns.value >= (LOCKED_SHARE if holds_lock(loader) else EXPLAINED_SHARE) * lost


def holds_lock(loader: Loader) -> bool:
    """Whether Python's lock is held most of the time while batches are made."""
    return (loader.lock_share or 0.0) >= LOCK_SHARE


def is_taken_in_turns(view: View) -> bool:
    """Whether loading and computing add up, and side by side would nearly hide the loader."""
    loader = view.loader
    if loader is None:
        return False
    step = view.ceiling_step.value
    overlap = StepModel.fitted(view.core.value, step, loader.ns.value).overlap
    return overlap < LITTLE_OVERLAP and loader.ns.value < NEARLY_HIDDEN * step


def saved_by(
    view: View,
    loader_after: Interval,
    *,
    overlapped: bool,
    cores: float = 0.0,
    first_saved_ns: float = 0.0,
    first_batches: bool = True,
    lock_is_freed: bool = False,
    under_lock: Interval | None = None,
) -> Interval:
    """Nanoseconds per step that a loader of this speed would save.

    Nothing runs beside the first batch of an epoch: what that saves comes off the gap
    between epochs.

    Args:
        view: the workload as it is.
        loader_after: time per batch after the cure.
        overlapped: the cure also moves loading beside the step (workers, threads).
        cores: CPU use of the loader after the cure; where it and the step need more cores
            than there are, they share them.
        first_saved_ns: what each epoch's first batch was seen to save, spread over the epoch.
        first_batches: whether the first batch of an epoch gains as well.
        lock_is_freed: the cure removes the Python code that held up the step's own.
        under_lock: Python that a batch still needs: in another thread, but the step's own Python,
            which starts its operations, waits for the same lock.
    """
    loader = view.loader.ns if view.loader is not None else loader_after
    step = view.ceiling_step
    now = view.core
    model = StepModel.fitted(now.value, step.value, loader.value)
    untold = lock_is_freed and loads_beside(view) and step.value < UNTOLD * loader.value
    if overlapped or untold:
        model = StepModel(1.0)
    left = step_left(view)
    if under_lock is not None:
        left = left + under_lock.scaled(model.overlap * (view.dispatch_share or 0.0))
    then = model.core(left, loader_after)
    if cores:
        shared = loader_after.scaled(cores) + left.scaled(min(view.frozen_cores, view.cpus))
        then = Interval.maximum(then, shared.scaled(1.0 / view.cpus))
    if not first_batches:
        return now.minus(then)
    later = max(first_saved_ns, _of_first_batch(view, loader.value - loader_after.value))
    between = min(later, view.costs.between_epochs)
    return now.minus(then) + Interval(between, 0.5 * between, between)


def queue_shutdown_cost(view: View) -> Interval:
    """What workers cost per step at the end of each epoch, where a PyDataset has none so far."""
    made = view.input
    has_queue = (made.workers or 0) > 1 or bool(made.use_multiprocessing)
    if made.kind != "PyDataset" or has_queue or not view.steps_per_epoch:
        return Interval.exact(0.0)
    return Interval.exact(QUEUE_ENDS_NS / view.steps_per_epoch)


def loads_beside(view: View) -> bool:
    """Whether batches are made in other threads or processes than the one that trains."""
    if view.recorded.kind == "loop" and view.input.kind == "generator":
        return False  # read by the loop itself
    if view.backend == "tensorflow":
        return True  # whatever Keras is given becomes a tf.data pipeline that reads ahead
    threads = view.input.kind in ("PyDataset", "DataLoader")
    return threads and (view.input.workers or 0) > 0


def _of_first_batch(view: View, saved: float) -> float:
    """What is saved of one batch in every epoch, spread over the epoch.

    The queue of a PyDataset is emptied and filled again at each epoch: several batches, one after
    the other, as many as the gap between epochs holds (on JAX, five of 20 ms; vectorised, a gap of
    103 ms became 3 ms).
    """
    steps = view.steps_per_epoch
    several = view.passes is None or view.passes > 1
    if not steps or not several:
        return 0.0
    batches = 1.0
    if view.input.kind == "PyDataset" and view.loader is not None:
        gap = view.costs.between_epochs * steps
        batches = min(MOST_QUEUED, max(1.0, gap / max(1.0, view.loader.ns.value)))
    return batches * max(0.0, saved) / steps


def step_left(view: View) -> Interval:
    """The step beside a fast loader: a frozen one at best, at worst all that loading leaves.

    What a step takes beyond a frozen one is partly Keras's own loop, which stays, and partly
    the loader's threads in its way, which do not. Where steps were timed inside that loop, they
    say how much stays.
    """
    ceiling = view.ceiling_step
    in_loop = view.frozen_in_loop
    if in_loop is not None and view.frozen is not None:
        return Interval(in_loop.value, view.frozen.low, max(ceiling.high, in_loop.high))
    if view.frozen is None or view.frozen.value >= ceiling.value:
        return ceiling
    likely = view.frozen.value + STAYS * (ceiling.value - view.frozen.value)
    return Interval(likely, min(view.frozen.low, likely), max(ceiling.high, likely))


def saved_by_trial(view: View, trial: Trial[Changed], *, overlapped: bool = False) -> Interval:
    """What a pipeline that was tried would save.

    The trial's ratio to the pipeline as written counts, since both were timed alike.
    """
    loader = view.loader
    if loader is None:
        raise ValueError("saved_by_trial() needs a measured loader")
    return saved_by(
        view,
        loader.ns.times(trial.left),
        overlapped=overlapped,
        cores=trial.cores,
        first_saved_ns=trial.first_saved_ns,
    )
