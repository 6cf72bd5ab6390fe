"""The contract between host and adapters: one record per operation, read from the frame once, before the adapter.

Host and agent use the same records: the host writes ``CompileCall(...).meta()`` and the agent reads it back. OPERATIONS
maps each operation to its record; an adapter with further operations maps these in a CALLS of its own.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Dict, Type

from bench_plugin.agent.contract.call import (
    CALIBRATION,
    FIXED,
    INPUTS,
    SECOND_BINDING,
    Call,
    Place,
    named_arrays,
    processors,
)
from bench_plugin.agent.contract.records import Malformed, Record

if TYPE_CHECKING:
    from bench_plugin.agent.contract.compilers import (
        ORIGINAL,
        QDQ,
        CompileCall,
        CompilerCall,
        RebuildCall,
        RunCall,
        TimeCall,
    )
    from bench_plugin.agent.contract.frameworks import (
        WEIGHTS,
        ExportCall,
        FetchCall,
        ImportCall,
        ModelCall,
        ReferenceCall,
        RunImportedCall,
        TrainCall,
    )
    from bench_plugin.agent.contract.onnx_tools import (
        AssembleCall,
        BuildGraphCall,
        CheckCall,
        CollectCall,
        ConvertCall,
        EmulateCall,
        EvaluateCall,
        EvaluateCasesCall,
        ExtractCall,
        FactsCall,
        LayersCall,
        MatchCall,
        MutateCall,
        MutateLayersCall,
        OpenCall,
        PrepareCall,
        ShrinkCall,
    )
    from bench_plugin.agent.contract.parts import (
        Description,
        ErrorPattern,
        GeneratedGraph,
        GeneratedNode,
        GeneratedSource,
        ModelDescription,
        Port,
        Runner,
        Segment,
        Target,
        Training,
        VersionCommand,
    )

# Modules of this package, and the names that are imported from them on first use, because an agent needs only a few
# records and starts faster without the others.
_LATER = {
    "compilers": ("ORIGINAL", "QDQ", "CompileCall", "CompilerCall", "RebuildCall", "RunCall", "TimeCall"),
    "frameworks": (
        "WEIGHTS",
        "ExportCall",
        "FetchCall",
        "ImportCall",
        "ModelCall",
        "ReferenceCall",
        "RunImportedCall",
        "TrainCall",
    ),
    "onnx_tools": (
        "AssembleCall",
        "BuildGraphCall",
        "CheckCall",
        "CollectCall",
        "ConvertCall",
        "EmulateCall",
        "EvaluateCall",
        "EvaluateCasesCall",
        "ExtractCall",
        "FactsCall",
        "LayersCall",
        "MatchCall",
        "MutateCall",
        "MutateLayersCall",
        "OpenCall",
        "PrepareCall",
        "ShrinkCall",
    ),
    "parts": (
        "Description",
        "ErrorPattern",
        "GeneratedGraph",
        "GeneratedNode",
        "GeneratedSource",
        "ModelDescription",
        "Port",
        "Runner",
        "Segment",
        "Target",
        "Training",
        "VersionCommand",
    ),
}
_WHERE = {name: module for module, names in _LATER.items() for name in names}
OPERATIONS: Dict[str, str] = {  # the record of each operation
    "reference": "ReferenceCall", "export": "ExportCall", "import_model": "ImportCall",
    "run_imported": "RunImportedCall", "compile": "CompileCall", "run": "RunCall", "time": "TimeCall",
    "fetch": "FetchCall", "train": "TrainCall", "check": "CheckCall", "evaluate": "EvaluateCall",
    "mutate": "MutateCall", "emulate": "EmulateCall", "prepare": "PrepareCall", "layers": "LayersCall",
    "open": "OpenCall", "extract": "ExtractCall", "shrink": "ShrinkCall", "collect": "CollectCall",
    "convert": "ConvertCall", "build": "BuildGraphCall", "rebuild": "RebuildCall", "assemble": "AssembleCall",
    "mutate_layers": "MutateLayersCall", "match": "MatchCall", "facts": "FactsCall",
}  # fmt: skip


def record_of(operation: str) -> Type[Call]:
    """The record that an operation takes. Raises KeyError for one that the contract does not have."""
    kind: Type[Call] = __getattr__(OPERATIONS[operation])
    return kind


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    found = getattr(importlib.import_module("%s.%s" % (__name__, _WHERE[name])), name)
    globals()[name] = found
    return found


__all__ = [
    "CALIBRATION",
    "FIXED",
    "INPUTS",
    "OPERATIONS",
    "ORIGINAL",
    "QDQ",
    "SECOND_BINDING",
    "WEIGHTS",
    "AssembleCall",
    "BuildGraphCall",
    "Call",
    "CheckCall",
    "CollectCall",
    "CompileCall",
    "CompilerCall",
    "ConvertCall",
    "Description",
    "EmulateCall",
    "ErrorPattern",
    "EvaluateCall",
    "EvaluateCasesCall",
    "ExportCall",
    "ExtractCall",
    "FactsCall",
    "FetchCall",
    "GeneratedGraph",
    "GeneratedNode",
    "GeneratedSource",
    "ImportCall",
    "LayersCall",
    "Malformed",
    "MatchCall",
    "ModelCall",
    "ModelDescription",
    "MutateCall",
    "MutateLayersCall",
    "OpenCall",
    "Place",
    "Port",
    "PrepareCall",
    "RebuildCall",
    "Record",
    "ReferenceCall",
    "RunCall",
    "RunImportedCall",
    "Runner",
    "Segment",
    "ShrinkCall",
    "Target",
    "TimeCall",
    "TrainCall",
    "Training",
    "VersionCommand",
    "named_arrays",
    "processors",
    "record_of",
]  # fmt: skip
