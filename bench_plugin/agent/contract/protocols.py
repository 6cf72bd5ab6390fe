"""What adapters are: the methods that each kind has, one per operation that its ADAPTER declares."""

from __future__ import annotations

from typing import Dict, Protocol

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract.compilers import CompileCall, RunCall
from bench_plugin.agent.contract.frameworks import (
    ExportCall,
    FetchCall,
    ImportCall,
    ReferenceCall,
    RunImportedCall,
    TrainCall,
)


class Tool(Protocol):
    """What every adapter has; the class is called ``Adapter``, and an agent makes one of it."""

    def versions(self) -> Dict[str, str]:
        """Versions of the installed distributions that take part, by name."""

    def reset(self) -> None:
        """Forget every model: what comes next must not depend on what was before."""


class Framework(Tool, Protocol):
    """An adapter whose ``kind`` is ``framework``."""

    def reference(self, call: ReferenceCall) -> Reply:
        """Compute what the model should give."""

    def export(self, call: ExportCall) -> Reply:
        """Export the model to ONNX."""

    def import_model(self, call: ImportCall) -> Reply:
        """Import an ONNX file, and keep the result."""

    def run_imported(self, call: RunImportedCall) -> Reply:
        """Run what was imported."""


class Compiler(Tool, Protocol):
    """An adapter whose ``kind`` is ``compiler``."""

    def compile(self, call: CompileCall) -> Reply:
        """Compile a file or a framework's own model."""

    def run(self, call: RunCall) -> Reply:
        """Run what was compiled, in another process unless ADAPTER says ``"artefact": False``."""


class Dataset(Tool, Protocol):
    """An adapter whose ``kind`` is ``dataset``."""

    def fetch(self, call: FetchCall) -> Reply:
        """The dataset as arrays."""


class Trainer(Tool, Protocol):
    """A tool named ``training_<framework>``."""

    def train(self, call: TrainCall) -> Reply:
        """Train a model of the framework."""
