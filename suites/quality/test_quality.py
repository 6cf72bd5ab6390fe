"""Does a compiled model still do its task as well as the framework's own?"""

import pytest


@pytest.mark.bench(check="quality")
def test_quality(bench_cell):
    """The artefact is right on as many inputs of the test set as the model that it was made from."""
    bench_cell.verify()
