"""Attribute options: options that Gymnasium has as attributes, not as constructor arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

# by the name of the id, without its version
NAMES = {
    "CartPole": ("gravity", "masscart", "masspole", "length", "force_mag", "tau"),
    "Pendulum": ("m", "l"),
}


def split(
    definition: Definition, options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the options that Gymnasium's constructor takes, and those that are attributes."""
    own = NAMES.get(definition.id.rpartition("-")[0], ())
    taken = {name: value for name, value in options.items() if name not in own}
    return taken, {name: options[name] for name in own if name in options}


def apply(env: Any, attributes: Mapping[str, Any]) -> None:
    """Sets the attributes of a Gymnasium environment, and those that its constructor computes."""
    for name, value in attributes.items():
        setattr(env, name, value)
    if hasattr(env, "polemass_length"):
        env.total_mass = env.masspole + env.masscart
        env.polemass_length = env.masspole * env.length
