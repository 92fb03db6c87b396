"""fitdoctor: why Keras training is slow, what would help, and by how much.

This module is imported inside the user's process, so it stays free of imports; what needs
any is imported when it is asked for.
"""

__version__ = "0.1.0"

# `Watch` is not listed: `from fitdoctor import *` must not import Keras.
__all__ = ["__version__", "load_ipython_extension"]


def __getattr__(name: str) -> object:
    """`fitdoctor.Watch`, a Keras callback for those who cannot change how training is started."""
    if name == "Watch":
        import importlib

        # Not an import statement: what the recorder imports must not lead to what reports need.
        return importlib.import_module("fitdoctor.watch").watch_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: object) -> None:
    """What `%load_ext fitdoctor` calls; it brings the `%%fitdoctor` cell magic."""
    import importlib

    importlib.import_module("fitdoctor.notebook").register(shell)
