"""The cache of finished stages by recipe; runs and threads share it.

``entries/ab/<recipe>/<version>/`` holds a record, arrays and files, which never change once they are there: a stage
that is made again becomes a new version. ``leases/`` names the versions that each living run uses, ``making/`` has
what is being written or removed, ``locks/`` one lock per recipe.
"""

from bench_plugin.pipeline.cache.entry import Entry, LazyArrays
from bench_plugin.pipeline.cache.locks import LockCancelled, Patience
from bench_plugin.pipeline.cache.store import LIMIT_BYTES, Cache, Usage, default_folder

__all__ = ["LIMIT_BYTES", "Cache", "Entry", "LazyArrays", "LockCancelled", "Patience", "Usage", "default_folder"]
