"""Writes large numbers with three digits and a unit."""

from __future__ import annotations

SYMBOLS = (" M", " k")
WORDS = (" million", " thousand")


def rounded(value: float, units: tuple[str, str]) -> str:
    """Returns three digits and a unit: 46800000 is "46.8 M" with SYMBOLS."""
    for size, unit in zip((1e6, 1e3), units, strict=True):
        if value >= 0.9995 * size:
            return f"{value / size:#.3g}".rstrip(".") + unit
    return f"{value:.0f}"
