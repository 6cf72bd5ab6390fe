"""The contract between host and adapters: one record per operation, read from the frame once, before the adapter.

Host and agent use the same records: the host writes ``CompileCall(...).meta()``, the agent reads it back. CALLS says
which record an operation takes; an adapter with operations of its own names their records in a CALLS of its own.
"""

from __future__ import annotations

from typing import Dict, Tuple, Type

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
from bench_plugin.agent.contract.compilers import ORIGINAL, QDQ, CompileCall, CompilerCall, RunCall
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
    BuildGraphCall,
    CheckCall,
    CollectCall,
    ConvertCall,
    EmulateCall,
    EvaluateCall,
    EvaluateCasesCall,
    ExtractCall,
    LayersCall,
    MutateCall,
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
from bench_plugin.agent.contract.records import Malformed, Record

_RECORDS: Tuple[Type[Call], ...] = (
    ReferenceCall, ExportCall, ImportCall, RunImportedCall, CompileCall, RunCall, FetchCall, TrainCall, CheckCall,
    EvaluateCall, MutateCall, EmulateCall, PrepareCall, LayersCall, OpenCall, ExtractCall, ShrinkCall, CollectCall,
    ConvertCall, BuildGraphCall,
)  # fmt: skip
CALLS: Dict[str, Type[Call]] = {kind.operation: kind for kind in _RECORDS}  # operation to the record that it takes

__all__ = [
    "CALIBRATION", "CALLS", "FIXED", "INPUTS", "ORIGINAL", "QDQ", "SECOND_BINDING", "WEIGHTS", "BuildGraphCall", "Call",
    "CheckCall", "CollectCall", "CompileCall", "CompilerCall", "ConvertCall", "Description", "EmulateCall",
    "ErrorPattern", "EvaluateCall", "EvaluateCasesCall", "ExportCall", "ExtractCall", "FetchCall", "GeneratedGraph",
    "GeneratedNode", "GeneratedSource", "ImportCall", "LayersCall", "Malformed", "ModelCall", "ModelDescription",
    "MutateCall", "OpenCall", "Place", "Port", "PrepareCall", "Record", "ReferenceCall", "RunCall", "RunImportedCall",
    "Runner", "Segment", "ShrinkCall", "Target", "TrainCall", "Training", "VersionCommand", "named_arrays",
    "processors",
]  # fmt: skip
