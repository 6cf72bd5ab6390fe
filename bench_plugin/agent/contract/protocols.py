"""The protocols of adapters: the methods of each kind, one per operation that its ADAPTER declares."""

from __future__ import annotations

from typing import Dict, Protocol

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract.compilers import CompileCall, RebuildCall, RunCall
from bench_plugin.agent.contract.frameworks import (
    ExportCall,
    FetchCall,
    ImportCall,
    ReferenceCall,
    RunImportedCall,
    TrainCall,
)


class Tool(Protocol):
    """The methods of every adapter. The class is named ``Adapter``, and an agent makes one instance of it."""

    def versions(self) -> Dict[str, str]:
        """The installed versions of the distributions that it uses, by name."""

    def reset(self) -> None:
        """Drop every model, so that later calls do not depend on earlier ones."""


class Framework(Tool, Protocol):
    """An adapter whose ``kind`` is ``framework``."""

    def reference(self, call: ReferenceCall) -> Reply:
        """Compute the reference outputs of the model."""

    def export(self, call: ExportCall) -> Reply:
        """Export the model to ONNX."""

    def import_model(self, call: ImportCall) -> Reply:
        """Import an ONNX file and keep the model."""

    def run_imported(self, call: RunImportedCall) -> Reply:
        """Run the imported model."""


class Compiler(Tool, Protocol):
    """An adapter whose ``kind`` is ``compiler``."""

    def compile(self, call: CompileCall) -> Reply:
        """Compile a file or a framework's own model."""

    def run(self, call: RunCall) -> Reply:
        """Run the artefact, in another process than compiled it unless ADAPTER has ``"artefact": False``."""

    def rebuild(self, call: RebuildCall) -> Reply:
        """Read back what the tool quantised; only where ADAPTER lists the operation."""


class Dataset(Tool, Protocol):
    """An adapter whose ``kind`` is ``dataset``."""

    def fetch(self, call: FetchCall) -> Reply:
        """The dataset as arrays [N, ...]."""


class Trainer(Tool, Protocol):
    """A tool named ``training_<framework>``."""

    def train(self, call: TrainCall) -> Reply:
        """Train a model of the framework."""
