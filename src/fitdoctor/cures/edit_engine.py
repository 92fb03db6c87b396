"""One edit on one draft: which function makes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fitdoctor.cures.arguments import (
    call_instead,
    drop_keyword,
    rename_call,
    rename_keyword,
    set_keyword,
    wrap_argument,
)
from fitdoctor.cures.batch_hooks import skip_batches
from fitdoctor.cures.chains import append_call, dataset_option, read_packed, swap_calls
from fitdoctor.cures.compiling import decorate
from fitdoctor.cures.draft import Draft
from fitdoctor.cures.epochs import longer_epochs
from fitdoctor.cures.loops import cast_before, hoist_compile
from fitdoctor.cures.memoised import memoise
from fitdoctor.cures.native import use_keras_ops
from fitdoctor.cures.one_fit import one_fit
from fitdoctor.cures.setting_statements import add_setting, drop_setting
from fitdoctor.cures.subscripts import read_all
from fitdoctor.cures.vmapped import vmap_instead
from fitdoctor.findings import edits

_MAKERS: dict[type[Any], Callable[[Draft, Any], Draft]] = {
    edits.SetKeyword: set_keyword,
    edits.DropKeyword: drop_keyword,
    edits.RenameKeyword: rename_keyword,
    edits.CallInstead: call_instead,
    edits.RenameCall: rename_call,
    edits.VmapInstead: vmap_instead,
    edits.AppendCall: append_call,
    edits.ReadPacked: read_packed,
    edits.DatasetOption: dataset_option,
    edits.SwapCalls: swap_calls,
    edits.WrapArgument: wrap_argument,
    edits.Decorate: decorate,
    edits.Memoise: memoise,
    edits.CastBefore: cast_before,
    edits.DropSetting: drop_setting,
    edits.AddSetting: add_setting,
    edits.SkipBatches: skip_batches,
    edits.LongerEpochs: longer_epochs,
    edits.OneFit: one_fit,
    edits.UseKerasOps: use_keras_ops,
    edits.ReadAll: read_all,
    edits.HoistCompile: hoist_compile,
}


def edited(draft: Draft, edit: edits.Edit) -> Draft:
    """The draft with an edit made.

    Raises:
        AlreadyThere: The source has it.
        DeclinedEdit: It cannot be made safely; the message says why.
    """
    return _MAKERS[type(edit)](draft, edit)
