"""Family: tells the registry what environments need that were translated from Python."""

from __future__ import annotations

from parallel_pool._engine.registry import Family, families

families["python"] = Family(
    "parallel_pool._translator.options",
    checks_resets=True,
    renderer="parallel_pool._translator.renderer",
    copies="parallel_pool._translator.copies",
)
