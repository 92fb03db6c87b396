"""The library's functions with the words of their own docstrings."""

from __future__ import annotations

import inspect
from typing import Any


def library() -> str:
    """Signature and docstring of everything that `import fitdoctor` offers."""
    import fitdoctor
    from fitdoctor.library import watch

    offered = {
        "diagnose": fitdoctor.diagnose,
        "speedup": fitdoctor.speedup,
        "from_generator": fitdoctor.from_generator,
        "read_ahead": fitdoctor.read_ahead,
        "packed": fitdoctor.packed,
        "load": fitdoctor.load,
        # The class itself needs Keras, which the documentation's tools do not.
        "Watch": watch,
    }
    return "\n".join(_entry(name, found) for name, found in offered.items())


def _entry(name: str, found: Any) -> str:
    signature = "()" if inspect.ismodule(found) else str(inspect.signature(found))
    text = inspect.getdoc(found) or ""
    return (
        f"## fitdoctor.{name}\n```python\nfitdoctor.{name}{signature}\n```\n```text\n{text}\n```\n"
    )
