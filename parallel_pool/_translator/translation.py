"""Translation: a class in Python becomes a C file."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from parallel_pool._translator import agents, purity, reader
from parallel_pool._translator.definition import Definition, Source
from parallel_pool._translator.infos import Infos
from parallel_pool._translator.refusal import MISTAKES, Refusal, Restart
from parallel_pool._translator.reset_options import ResetOptions
from parallel_pool._translator.template import Template

if TYPE_CHECKING:
    from parallel_pool._translator.types import Type

MAX_RESTARTS = 60


def translate(
    cls: type,
    task_id: str,
    max_episode_steps: int | None = None,
    reward_threshold: float | None = None,
    options: dict[str, Any] | None = None,
) -> Source:
    """Translates a class.

    Raises:
        Refusal: it can't be translated.
    """
    try:
        return _translate(Template(cls, options), task_id, max_episode_steps, reward_threshold)
    except Refusal as refusal:
        if not refusal.file:
            refusal.file, first = reader.place_of(cls)
            refusal.line = refusal.line or first
        raise
    except MISTAKES as mistake:
        kind = type(mistake).__name__
        made = Refusal(f"{cls.__name__} is not translated ({kind}: {str(mistake)[:80]})")
        made.file, made.line = reader.place_of(cls)
        raise made from mistake


def _translate(
    template: Template, task_id: str, max_episode_steps: int | None, reward_threshold: float | None
) -> Source:
    kind = agents.Definition if template.agents else Definition
    infos = Infos(template.infos, len(template.agents))
    yields: dict[Any, Type] = {}
    open_dicts: dict[Any, dict[str, Type]] = {}
    options = ResetOptions()
    shown = _shown(template)
    for _ in range(MAX_RESTARTS):
        options.begin()
        template.constants.clear()
        template.frozen.clear()
        template.divisors.clear()
        made = kind(template, task_id, infos, options, shown)
        made.program.functions.yields = yields
        made.program.open_dicts = open_dicts
        try:
            return made.write(max_episode_steps, reward_threshold)
        except Restart:
            continue
        except Refusal as refusal:
            if not options.yield_to(refusal):
                raise
    raise Refusal(f"{template.cls.__name__}: the types of its attributes can't be found")


def _shown(template: Template) -> tuple[ast.expr | None, ...]:
    """Returns the expressions of the observation and of the info, if they show the state alone."""
    if template.agents:
        return None, None
    functions = {name: reader.find(template.cls, name) for name in ("reset", "step")}
    known = {name: each for name, each in functions.items() if each is not None}
    if len(known) < len(functions):
        return None, None
    return purity.shown(template.cls, known, template.env)
