"""The examples in docstrings of what needs Ray."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apis.cluster.cases import Linear
from tests.support.docstrings import ON_RAY, example, public_objects, run_example


@pytest.mark.parametrize("name", sorted(ON_RAY))
def test_an_example_runs(name: str, cluster: Any) -> None:
    [(path, value)] = [
        (path, value) for path, value in public_objects().items() if value.__name__ == name
    ]
    assert ">>> " in example(value)
    assert run_example(path, value, {"make_policy": Linear}) == ""
