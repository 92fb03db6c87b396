"""The library's functions with the words of their own docstrings."""

from __future__ import annotations

import inspect
from typing import Any


def library() -> str:
    """Signature and docstring of everything that `import fitdoctor` offers."""
    import fitdoctor
    from fitdoctor.watch import watch_class

    offered = {
        "diagnose": fitdoctor.diagnose,
        "speedup": fitdoctor.speedup,
        "load": fitdoctor.load,
        "Watch": _watch(watch_class),
    }
    return "\n".join(_entry(name, found) for name, found in offered.items())


def _watch(make: Any) -> Any:
    """The callback, or None where Keras is not installed beside the documentation's tools."""
    try:
        return make()
    except ImportError:
        return None


def _entry(name: str, found: Any) -> str:
    if found is None:
        signature, text = "()", "A Keras callback; see Notebooks and callback."
    else:
        signature = "()" if inspect.isclass(found) else str(inspect.signature(found))
        text = inspect.getdoc(found) or ""
    return (
        f"## fitdoctor.{name}\n```python\nfitdoctor.{name}{signature}\n```\n```text\n{text}\n```\n"
    )
