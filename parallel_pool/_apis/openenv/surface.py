"""Surface: what clients may know of an environment before they step it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.openenv.space_schemas import Schema, schema_of

if TYPE_CHECKING:
    from gymnasium import Space

# of the HTTP API, as OpenEnv's servers say
API_VERSION = "1.0.0"
METADATA: Schema = {"type": "object", "additionalProperties": True, "default": {}}


def _object(title: str, required: Iterable[str], **properties: Any) -> Schema:
    form = {"title": title, "type": "object", "properties": properties}
    return {**form, "required": list(required), "additionalProperties": False}


def schemas(observation_space: Space[Any], action_space: Space[Any]) -> dict[str, Schema]:
    """Returns the schemas of actions, observations and states.

    Raises:
        TypeError: a space has no form in JSON.
    """
    boolean = {"type": "boolean", "default": False}
    ends = {"done": boolean, "terminated": boolean, "truncated": boolean}
    reward = {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None}
    observation = _object(
        "Observation",
        ["observation"],
        observation=schema_of(observation_space, "observation_space"),
        reward=reward,
        metadata=METADATA,
        **ends,
    )
    action = _object(
        "Action", ["action"], action=schema_of(action_space, "action_space"), metadata=METADATA
    )
    state = _object(
        "State",
        [],
        episode_id={"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        step_count={"type": "integer", "minimum": 0, "default": 0},
    )
    found = {"action": action, "observation": observation, "state": state}
    return {**found, "reset_observation": observation}


def metadata(name: str, sessions: int) -> dict[str, Any]:
    """Returns what OpenEnv calls the metadata of an environment."""
    description = f"{name}, served by parallel_pool to at most {sessions} sessions at once"
    more = ("readme_content", "version", "author", "documentation_url")
    return {"name": name, "description": description, **dict.fromkeys(more)}


def openapi(routes: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    """Returns the description of the HTTP API, from method, path and summary of each route."""
    paths: dict[str, dict[str, Any]] = {}
    for method, path, summary in routes:
        about = {"summary": summary, "responses": {"200": {"description": "JSON"}}}
        paths.setdefault(path, {})[method.lower()] = about
    info = {"title": "OpenEnv Environment HTTP API", "version": API_VERSION}
    return {"openapi": "3.1.0", "info": info, "paths": paths}
