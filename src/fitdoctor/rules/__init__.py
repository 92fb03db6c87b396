"""One file per rule; a new file in this folder is a new rule, and nothing else is edited."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from fitdoctor.findings.rule import Rule


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule in this folder, by code.

    Raises:
        TypeError: a module of this folder defines no RULE.
    """
    found: dict[str, Rule] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("_"):
            continue
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        rule = getattr(loaded, "RULE", None)
        if rule is None:
            raise TypeError(f"{loaded.__name__} must define RULE, an instance of its rule")
        if rule.code in found:
            raise TypeError(f"two rules have the code {rule.code}")
        found[rule.code] = rule
    return tuple(found[code] for code in sorted(found))
