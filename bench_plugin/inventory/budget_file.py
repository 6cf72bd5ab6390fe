"""The file of budgets, ``fixtures/operators/budgets.toml``: the most seconds per operator case."""

from __future__ import annotations

from typing import Annotated

from bench_plugin.domain.records import Record, about


class BudgetFile(Record, frozen=True):
    """Times that operator cases may take."""

    seconds_per_case: Annotated[
        dict[str, Annotated[float, about("seconds", gt=0)]],
        about("compiler -> seconds that a case may take on average, compiling and running"),
    ]
