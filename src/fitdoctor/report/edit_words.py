"""An edit of the user's source in words: what to change, and where."""

from __future__ import annotations

from fitdoctor.findings.edits import (
    AppendCall,
    Decorate,
    DropKeyword,
    Edit,
    RenameCall,
    SetKeyword,
    SwapCalls,
    WrapArgument,
)


def edit_words(edit: Edit) -> str:
    """One edit as an instruction; its place is shown beside it.

    Example:
        >>> from fitdoctor.findings.place import Where
        >>> edit_words(DropKeyword(Where("a.py", 3), "compile", "run_eagerly"))
        'in compile(…) remove run_eagerly'
    """
    match edit:
        case SetKeyword():
            return f"in {edit.call}(…) set {edit.keyword}={edit.value}"
        case DropKeyword():
            return f"in {edit.call}(…) remove {edit.keyword}"
        case RenameCall():
            return f"call {edit.to}(…) instead of {edit.call}(…)"
        case AppendCall():
            return f"after {edit.call}(…) add {edit.text}"
        case SwapCalls():
            return f"put {edit.second}(…) before {edit.first}(…)"
        case WrapArgument():
            return f"pass {edit.before}…{edit.after} as argument {edit.argument} of {edit.call}(…)"
        case Decorate():
            return f"put {edit.decorator} above {edit.function}"
