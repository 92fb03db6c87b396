"""How long a fit waits between epochs for the last epoch's iterator to end.

Now and then TensorFlow waits seconds for the thread that tuned it. That is random, and
not counted as training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fitdoctor.inside.ledger.running_call import Call

ITERATOR_WAIT_NS = 100_000_000  # shorter waits are not worth recording


def iterator_came(call: Call, took: int, begin: int) -> None:
    """The first step of an epoch: the change of iterators took this long.

    The first iterator only has to be made. A later one also ends the one before it.
    """
    if call.first_iterator_ns is None:
        call.first_iterator_ns = took
    else:
        waited_for_iterator(call, took - call.first_iterator_ns, begin)


def waited_for_iterator(call: Call, waited: int, until: int) -> None:
    """An old iterator took this long to end.

    A torch DataLoader ends its worker processes there, which does not happen by chance.
    """
    if call.kind != "fit" or waited < ITERATOR_WAIT_NS:
        return
    if not type(call.arguments.get("x")).__module__.startswith("torch."):
        call.waited_for_iterators += waited
        call.recorder.event("iterator_wait", until - waited, waited)
