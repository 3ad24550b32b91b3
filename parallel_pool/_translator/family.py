"""Family: announces the translator to the registry and to traces, which never import it."""

from __future__ import annotations

from parallel_pool._engine import maker
from parallel_pool._engine.registry import Family, families

families["python"] = Family(
    "parallel_pool._translator.options",
    fills_resets=True,
    renderer="parallel_pool._translator.renderer",
    copies="parallel_pool._translator.copies",
)
maker.trials.append("parallel_pool._translator.trial")
