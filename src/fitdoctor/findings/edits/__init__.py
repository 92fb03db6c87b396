"""Changes of the user's source as data: what to do at which recorded call.

A rule knows what would help and where. `cures/` knows how to change the text, and whether that is
possible. Values are Python source text. `imports` are the import statements under which a value's
names are written; a file that binds them otherwise keeps its own names.

A line that is ANYWHERE was not recorded: a keyword is then set or dropped in every call of that
name in the file that is given it.
"""

from fitdoctor.findings.edits.call_edits import (
    CallInstead as CallInstead,
    DropKeyword as DropKeyword,
    RenameCall as RenameCall,
    RenameKeyword as RenameKeyword,
    SetKeyword as SetKeyword,
    VmapInstead as VmapInstead,
    WrapArgument as WrapArgument,
)
from fitdoctor.findings.edits.chain_edits import (
    CACHE as CACHE,
    AppendCall as AppendCall,
    ArrangeCalls as ArrangeCalls,
    DatasetOption as DatasetOption,
    ReadAll as ReadAll,
    ReadPacked as ReadPacked,
    SwapCalls as SwapCalls,
)
from fitdoctor.findings.edits.edit import (
    FITDOCTOR as FITDOCTOR,
    FUNCTOOLS as FUNCTOOLS,
    JAX as JAX,
    KERAS as KERAS,
    OS as OS,
    TENSORFLOW as TENSORFLOW,
    Claim as Claim,
    Edit as Edit,
)
from fitdoctor.findings.edits.statement_edits import (
    AddSetting as AddSetting,
    CastBefore as CastBefore,
    Decorate as Decorate,
    DropSetting as DropSetting,
    HoistCompile as HoistCompile,
    LongerEpochs as LongerEpochs,
    Memoise as Memoise,
    OneFit as OneFit,
    ReadAfterLoop as ReadAfterLoop,
    ReadAheadInLoop as ReadAheadInLoop,
    SkipBatches as SkipBatches,
    UseKerasOps as UseKerasOps,
)
