"""The list of planted defects holds for this tree (running it takes most of an hour)."""

from __future__ import annotations

import pytest

from tests.planted_defects import DEFECTS, ROOT, Defect, find


@pytest.mark.quick(4)
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name.replace(" ", "_"))
def test_the_anchor_of_a_defect_is_in_the_tree_exactly_once(defect: Defect) -> None:
    path, anchor, replacement = find(ROOT, defect)
    assert path.read_text().count(anchor) == 1 and anchor != replacement
