"""An extension of griffe, which reads docstrings for the site."""

from __future__ import annotations

from typing import Any

import griffe


class Examples(griffe.Extension):
    """Renders a section "Example" as code: griffe knows only "Examples"."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
