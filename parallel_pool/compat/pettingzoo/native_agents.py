"""NativeAgents: native environments with several players, behind `PoolParallelEnv`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode

from parallel_pool.compat.gymnasium.vector_env import PoolVectorEnv
from parallel_pool.compat.pettingzoo import groups
from parallel_pool.compat.pettingzoo.groups import AgentArrays, AgentGroup

if TYPE_CHECKING:
    from parallel_pool import seeds
    from parallel_pool.buffers import Array
    from parallel_pool.specs import Field


class NativeAgents:
    """The players of n native environments; all of them live until the episode ends.

    Attributes:
        vector_env: the `PoolVectorEnv` underneath, whose arrays have an axis of players.
        possible_agents: a list of all agents.
        groups: of the agents.
        live: bool (n, k): which agents act in the next step.
    """

    def __init__(self, env_id: str, num_envs: int, mode: AutoresetMode, **arguments: Any) -> None:
        """Makes the environments; for arguments and exceptions see `PoolParallelEnv`."""
        self._mode = mode
        self.vector_env = PoolVectorEnv(
            env_id, num_envs, backend="native", autoreset_mode=mode, **arguments
        )
        spec = self.vector_env.pool.spec
        self.possible_agents: list[Any] = list(spec.player_names)
        players = range(spec.num_players)
        self._fields = {field.name: field for field in (*spec.observations, *spec.infos)}
        self._keys = [field.name for field in spec.observations]
        self._action = spec.action
        seen = [self._space(spec.observations, player) for player in players]
        acts = [spec.action.of_player(player).space() for player in players]
        names = self.possible_agents
        self.groups = groups.grouped(
            names, dict(zip(names, seen, strict=True)), dict(zip(names, acts, strict=True))
        )
        self.live: Array = np.zeros((self.vector_env.num_envs, len(names)), np.bool_)

    @staticmethod
    def _space(fields: Sequence[Field], player: int) -> Any:
        """Returns the space of what a player sees."""
        if len(fields) == 1:
            return fields[0].of_player(player).space()
        from gymnasium import spaces

        return spaces.Dict([(field.name, field.of_player(player).space()) for field in fields])

    def reset(self, seed: seeds.Seed, options: dict[str, Any] | None) -> AgentArrays:
        """Starts new episodes; rewards are 0, and no agent is terminated or truncated."""
        mask = None if options is None else options.get("reset_mask")
        observations, infos = self.vector_env.reset(seed=seed, options=options)
        live = np.ones_like(self.live) if mask is None else self.live | mask[:, np.newaxis]
        self.live = live.copy()
        shape = live.shape
        none = np.zeros(shape, np.bool_)
        return AgentArrays(
            self._blocks(observations), np.zeros(shape), none, none.copy(), live, self._infos(infos)
        )

    def step(self, blocks: Sequence[Any]) -> AgentArrays:
        """Steps with the actions of each group."""
        observations, rewards, terminated, truncated, infos = self.vector_env.step(
            self._joined(blocks)
        )
        shape = self.live.shape
        live = np.ones(shape, np.bool_)
        if self._mode is not AutoresetMode.SAME_STEP:
            live &= ~(terminated | truncated)[:, np.newaxis]
        self.live = live.copy()
        return AgentArrays(
            self._blocks(observations),
            rewards.reshape(shape),
            np.broadcast_to(terminated[:, np.newaxis], shape).copy(),
            np.broadcast_to(truncated[:, np.newaxis], shape).copy(),
            live,
            self._infos(infos),
        )

    # ------------------------------------------------------------------------------ converting --

    def _joined(self, blocks: Sequence[Any]) -> Array:
        """Returns the actions of all players as one array; what a player does not need is 0."""
        n, k = self.live.shape
        field = self._action
        dtype = np.result_type(*(np.asarray(block).dtype for block in blocks))
        if len(blocks) == 1 and self.groups[0].action_space.shape == field.shape:
            joined = np.asarray(blocks[0])
        else:
            joined = np.zeros((n, k, *field.shape), dtype)
            for group, block in zip(self.groups, blocks, strict=True):
                ends = tuple(slice(size) for size in group.action_space.shape or ())
                joined[(slice(None), group.columns, *ends)] = block
        return joined if k > 1 and field.per_player else joined[:, 0]

    def _blocks(self, observations: Any) -> tuple[Any, ...]:
        return tuple(self._block(group, observations) for group in self.groups)

    def _block(self, group: AgentGroup, observations: Any) -> Any:
        """Returns what the agents of a group see."""
        if len(self._keys) == 1:
            return self._of_group(group, self._fields[self._keys[0]], observations)
        return {
            key: self._of_group(group, self._fields[key], observations[key]) for key in self._keys
        }

    def _of_group(self, group: AgentGroup, field: Field, values: Array) -> Array:
        """Returns the part (n, agents, ...) of a column that a group has, in its own size."""
        if not field.per_player:
            # what all players see is the same
            shape = (len(values), len(group.agents), *values.shape[1:])
            return np.broadcast_to(values[:, np.newaxis], shape).copy()
        if len(self.possible_agents) == 1:
            values = values[:, np.newaxis]
        own = field.of_player(group.indices[0])
        ends = tuple(slice(size) for size in own.shape)
        return values[(slice(None), group.columns, *ends)]

    def _infos(self, infos: dict[str, Any]) -> dict[Any, Any]:
        """Returns a vector environment's infos by agent; those of all players stay as they are."""
        found: dict[Any, Any] = {agent: {} for agent in self.possible_agents}
        for key, values in infos.items():
            field = self._fields.get(key)
            if field is not None and field.is_info and field.per_player:
                for player, agent in enumerate(self.possible_agents):
                    own = values if len(self.possible_agents) == 1 else values[:, player]
                    if field.player_sizes is not None:
                        own = own[:, : field.player_sizes[player]]
                    found[agent][key] = own.copy()
                    found[agent][f"_{key}"] = infos[f"_{key}"].copy()
            elif not (key.startswith("_") and self._is_mask(key[1:])):
                found[key] = values
        if "final_obs" in found:
            found["final_obs"] = self._finals(found["final_obs"], found["_final_obs"])
        if "final_info" in found:
            found["final_info"] = self._infos(found["final_info"])
        return found

    def _is_mask(self, key: str) -> bool:
        field = self._fields.get(key)
        return field is not None and field.is_info and field.per_player

    def _finals(self, finals: Array, is_final: Array) -> dict[Any, Any]:
        """Returns the last observations of ended episodes by agent: arrays (n, ...)."""
        found: dict[Any, Any] = {}
        shown = [final for final, ended in zip(finals, is_final, strict=True) if ended]
        for group in self.groups:
            block = groups.zeros(group.observation_space, (len(finals), len(group.agents)))
            rows = self._block(group, _stacked(shown))
            _put_rows(block, is_final, rows)
            found.update(groups.by_agent(group, block))
        return {agent: found[agent] for agent in self.possible_agents}

    def state(self) -> Array:
        """Returns the observations of all agents, one after another (n, ...), as mpe2 does."""
        seen = self.vector_env.pool.observe()
        parts = []
        for player in range(len(self.possible_agents)):
            for key in self._keys:
                field, values = self._fields[key], getattr(seen, key)
                if field.per_player and len(self.possible_agents) > 1:
                    values = values[:, player]
                ends = tuple(slice(size) for size in field.of_player(player).shape)
                parts.append(values[(slice(None), *ends)].reshape(len(values), -1))
        return np.concatenate(parts, axis=1)


def _stacked(values: Sequence[Any]) -> Any:
    """Returns an array of the observations of several environments, or a dict of such."""
    if isinstance(values[0], dict):
        return {key: np.stack([value[key] for value in values]) for key in values[0]}
    return np.stack(values)


def _put_rows(block: Any, mask: Array, rows: Any) -> None:
    """Writes rows into the environments of a mask."""
    if isinstance(block, dict):
        for key, part in block.items():
            _put_rows(part, mask, rows[key])
    else:
        block[mask] = rows
