"""Changes of the user's source as data: what to do at which recorded call.

A rule knows what would help and where. `cures/` knows how to change the text, and whether that is
possible. Values are Python source text. `imports` are the import statements under which a value's
names are written; a file that binds them otherwise keeps its own names.

A line that is ANYWHERE was not recorded: a keyword is then set or dropped in every call of that
name in the file that is given it.
"""

from fitdoctor.findings.edits.call_edits import (
    CallInstead,
    DropKeyword,
    RenameCall,
    RenameKeyword,
    SetKeyword,
    VmapInstead,
    WrapArgument,
)
from fitdoctor.findings.edits.chain_edits import (
    CACHE,
    AppendCall,
    DatasetOption,
    ReadAll,
    ReadPacked,
    SwapCalls,
)
from fitdoctor.findings.edits.edit import (
    FITDOCTOR,
    FUNCTOOLS,
    JAX,
    KERAS,
    OS,
    TENSORFLOW,
    Claim,
    Edit,
)
from fitdoctor.findings.edits.statement_edits import (
    AddSetting,
    CastBefore,
    Decorate,
    DropSetting,
    HoistCompile,
    LongerEpochs,
    Memoise,
    OneFit,
    SkipBatches,
    UseKerasOps,
)

__all__ = [
    "CACHE",
    "FITDOCTOR",
    "FUNCTOOLS",
    "JAX",
    "KERAS",
    "OS",
    "TENSORFLOW",
    "AddSetting",
    "AppendCall",
    "CallInstead",
    "CastBefore",
    "Claim",
    "DatasetOption",
    "Decorate",
    "DropKeyword",
    "DropSetting",
    "Edit",
    "HoistCompile",
    "LongerEpochs",
    "Memoise",
    "OneFit",
    "ReadAll",
    "ReadPacked",
    "RenameCall",
    "RenameKeyword",
    "SetKeyword",
    "SkipBatches",
    "SwapCalls",
    "UseKerasOps",
    "VmapInstead",
    "WrapArgument",
]
