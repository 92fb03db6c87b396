"""The parts of the SARIF 2.1.0 schema that lint uses, written after the standard.

Objects are closed here, so that a field with a wrong name fails. The numbers are the sections
of the standard.
"""

from __future__ import annotations

from typing import Any

LEVEL = {"enum": ["none", "note", "warning", "error"]}


def closed(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required.split(),
        "properties": properties,
    }


def some(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


TEXT = {"type": "string", "minLength": 1}
COUNT = {"type": "integer", "minimum": 1}
MESSAGE = closed("text", text=TEXT, markdown=TEXT)  # 3.11, and 3.12 with both forms
REGION = closed("startLine", startLine=COUNT, startColumn=COUNT)  # 3.30
ARTIFACT = closed("uri", uri={**TEXT, "format": "uri-reference"}, uriBaseId=TEXT)  # 3.4
PHYSICAL = closed("artifactLocation", artifactLocation=ARTIFACT, region=REGION)  # 3.29
LOCATION = closed("physicalLocation", physicalLocation=PHYSICAL)  # 3.28
RESULT = closed(  # 3.27
    "message",
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": -1},
    level=LEVEL,
    message=MESSAGE,
    locations=some(LOCATION),
)
RULE = closed(  # 3.49
    "id",
    id=TEXT,
    name=TEXT,
    shortDescription=MESSAGE,
    help=MESSAGE,
    defaultConfiguration=closed("", level=LEVEL),  # 3.50
)
DRIVER = closed(  # 3.19
    "name", name=TEXT, semanticVersion=TEXT, rules=some(RULE, uniqueItems=True)
)
RUN = closed(  # 3.14
    "tool",
    tool=closed("driver", driver=DRIVER),  # 3.18
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=some(RESULT),
)
LOG = closed(  # 3.13
    "version runs",
    **{"$schema": {**TEXT, "format": "uri"}},
    version={"enum": ["2.1.0"]},
    runs=some(RUN),
)
