"""The programs of PureJaxRL, unchanged, learn on our environments in gymnax's form."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from integration.tests.test_gymnax_libraries import trained

PUREJAXRL = Path(sys.prefix) / "purejaxrl"


@pytest.mark.skipif(
    not (PUREJAXRL.exists() and (PUREJAXRL.parent / "rejax-0.1.3").exists()),
    reason="it needs what make installs for rejax, and a clone:"
    " git clone https://github.com/luchris429/purejaxrl .venv/purejaxrl",
)
def test_purejaxrl_learns() -> None:
    (returns,) = trained("purejaxrl.ppo", TOTAL_TIMESTEPS=65536)
    assert returns[0] < 100 and max(returns) > 150
