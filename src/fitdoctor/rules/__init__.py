"""One file per rule, in the folder of its family; a new file is a new rule."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from fitdoctor.rules.rule import Rule

FAMILIES = ("input", "host", "compilation", "callbacks", "model", "environment")


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code.

    Raises:
        TypeError: a module in a family's folder defines no RULE, or two have the same code.
    """
    found: dict[str, Rule] = {}
    for family in FAMILIES:
        package = importlib.import_module(f"{__name__}.{family}")
        for module in pkgutil.iter_modules(package.__path__):
            loaded = importlib.import_module(f"{package.__name__}.{module.name}")
            rule = getattr(loaded, "RULE", None)
            if rule is None:
                raise TypeError(f"{loaded.__name__} must define RULE, an instance of its rule")
            if rule.code in found:
                raise TypeError(f"two rules have the code {rule.code}")
            found[rule.code] = rule
    return tuple(found[code] for code in sorted(found))
