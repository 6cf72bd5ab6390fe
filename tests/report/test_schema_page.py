"""The page of configuration keys as a pure function of JSON Schemas, compared literally."""

from __future__ import annotations

from typing import Any

from bench_plugin.report.formats.schema_page import HEAD, page

DEFINITIONS: dict[str, Any] = {
    "Main": {
        "description": "The ``whole`` file.",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "description": "a | b of <x>, ``y``"},
            "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
            "low": {"type": "number", "minimum": 0.5},
            "above": {"type": "number", "exclusiveMinimum": 0},
            "on": {"type": "boolean", "default": False},
            "any": {},
            "mode": {"$ref": "#/$defs/Mode", "default": "fast"},
            "many": {"enum": list(range(13))},
            "twelve": {"enum": list(range(12))},
            "texts": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}], "default": []},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}], "default": ""},
            "list": {"type": "array", "default": [1]},
            "table": {"type": "object", "default": {}},
            "open": {"type": "object", "additionalProperties": True},
            "numbers": {"type": "object", "additionalProperties": {"type": "number"}},
            "training": {"anyOf": [{"$ref": "#/$defs/Training"}, {"type": "null"}], "default": None},
            "inputs": {"type": "array", "items": {"$ref": "#/$defs/Input"}},
            "compilers": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Compiler"}},
        },
    },
    "Mode": {"enum": ["fast", "slow"]},
    "Training": {"required": [], "properties": {"epochs": {"type": "integer", "default": 2},
                                                "first": {"$ref": "#/$defs/Input"}}},
    "Input": {"description": "One input.", "required": ["shape"], "properties": {"shape": {"type": "array"}}},
    "Compiler": {"required": [], "properties": {}},
}  # fmt: skip
TEXT = """
## Model file

`models/*.toml`

The `whole` file.

| key | value | default | meaning |
|---|---|---|---|
| `name` | text | must be given | a \\| b of &lt;x>, `y` |
| `count` | whole number from 1 to 9 | `3` |  |
| `low` | number from 0.5 |  |  |
| `above` | number above 0 |  |  |
| `on` | true or false | `false` |  |
| `any` | anything |  |  |
| `mode` | `fast`, `slow` | `"fast"` |  |
| `many` | `0`, `1`, `2`, `3`, `4`, `5`, `6`, `7`, `8`, `9`, `10`, `11` ... |  |  |
| `twelve` | `0`, `1`, `2`, `3`, `4`, `5`, `6`, `7`, `8`, `9`, `10`, `11` |  |  |
| `texts` | text or a list of them |  |  |
| `either` | text or whole number |  |  |
| `list` | a list | `[1]` |  |
| `table` | a table |  |  |
| `open` | a table |  |  |
| `numbers` | a table: number |  |  |
| `training` | a table or anything |  |  |
| `inputs` | a list: a table |  |  |
| `compilers` | a table: a table |  |  |

### `[training]`



| key | value | default | meaning |
|---|---|---|---|
| `epochs` | whole number | `2` |  |
| `first` | a table |  |  |

### `[[inputs]]`, `[first]`

One input.

| key | value | default | meaning |
|---|---|---|---|
| `shape` | a list | must be given |  |

### `[compilers.<name>]`



| key | value | default | meaning |
|---|---|---|---|

## Other

the table [a.&lt;b>]

One input.

| key | value | default | meaning |
|---|---|---|---|
| `shape` | a list | must be given |  |
"""


def test_the_page_has_every_key_of_every_file() -> None:
    whole = {"$ref": "#/$defs/Main", "$defs": DEFINITIONS}
    other = {"$ref": "#/$defs/Input", "$defs": {"Input": DEFINITIONS["Input"]}}
    found = page([("model file", "models/*.toml", whole), ("other", "the table [a.<b>]", other)])
    assert found.startswith(HEAD)
    assert found.removeprefix(HEAD) == TEXT
