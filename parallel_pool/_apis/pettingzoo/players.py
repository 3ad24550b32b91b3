"""PlayerColumns: the arrays of native environments with several players, by group of agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.pettingzoo import groups
from parallel_pool._apis.pettingzoo.groups import AgentArrays
from parallel_pool._engine.trees import map_leaves, put_rows
from parallel_pool._native import lib

if TYPE_CHECKING:
    from parallel_pool._apis.pettingzoo.groups import AgentGroup
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.specs import Field, Spec


# per-player infos by which a game says who acts, whose episode ends, and who got what (pp_env.h)
LIVE, ENDED, GIVEN = "live", "ended", "given"
MARKS = (LIVE, ENDED, GIVEN)


class PlayerColumns:
    """Converts between a pool's arrays, which have an axis of players, and those of groups.

    Attributes:
        possible_agents: a list of all agents: the players' names.
        groups: of the agents.
        keys: the names of the observations.
    """

    def __init__(self, spec: Spec) -> None:
        self.possible_agents: list[Any] = list(spec.player_names)
        self.keys = [field.name for field in spec.observations]
        self._fields = {field.name: field for field in (*spec.observations, *spec.infos)}
        self._action = spec.action
        marks = {field.name for field in spec.infos if field.marks_players}
        self._marks = marks & set(MARKS)
        self._has_live, self._has_ended = LIVE in marks, ENDED in marks
        self._has_given = GIVEN in marks
        # bits of "given" that say who got an info
        own = [field.name for field in spec.infos if field.per_player]
        told = [name for name in own if name not in self._marks]
        self._bits = {name: 1 << (lib.PP_GIVEN_INFOS + i) for i, name in enumerate(told)}
        players = range(spec.num_players)
        names = self.possible_agents
        seen = [_space(spec.observations, player) for player in players]
        acts = [spec.action.of_player(player).space() for player in players]
        self.groups = groups.group_agents(
            names, dict(zip(names, seen, strict=True)), dict(zip(names, acts, strict=True))
        )
        # where a group's part of a column per player lies
        self._parts = {
            (group.agents, field.name): _part(group, field)
            for group in self.groups
            for field in spec.observations
            if field.per_player
        }

    def joined(self, blocks: Sequence[Any], live: Array) -> Array:
        """Returns the actions of all players as one array.

        What a player does not need is 0, and so are the actions of players that do not act, as the
        pool checks them all.

        Args:
            blocks: the actions of each group (n, agents, ...).
            live: bool (n, k): which players act.
        """
        n, k = len(blocks[0]), len(self.possible_agents)
        field = self._action
        if len(blocks) == 1 and self.groups[0].action_space.shape == field.shape:
            joined = np.asarray(blocks[0])
        else:
            dtype = np.result_type(*(np.asarray(block).dtype for block in blocks))
            joined = np.zeros((n, k, *field.shape), dtype)
            for group, block in zip(self.groups, blocks, strict=True):
                ends = tuple(slice(size) for size in group.action_space.shape or ())
                joined[(slice(None), group.columns, *ends)] = block
        if self._has_live and not live.all():
            joined = joined.copy()
            joined[~live] = 0
        return joined if k > 1 and field.per_player else joined[:, 0]

    def first_arrays(
        self, observations: Any, infos: dict[str, Any], env_ids: Array, live: Array, mask: Any
    ) -> AgentArrays:
        """Returns the arrays of a reset: rewards are 0, and no agent is terminated or truncated.

        Args:
            observations, infos: of a vector environment.
            env_ids: of the rows, int32 (n,).
            live: bool (n, k): which agents acted before.
            mask: bool (n,): the environments that were reset; None: all.
        """
        first = self._live(infos, live.shape)
        if mask is not None:
            first = np.where(mask[:, np.newaxis], first, live)
        none = np.zeros(live.shape, np.bool_)
        return AgentArrays(
            self.blocks(observations),
            np.zeros(live.shape),
            none,
            none.copy(),
            first,
            self.infos(infos),
            env_ids,
        )

    def arrays(
        self,
        observations: Any,
        rewards: Array,
        terminated: Array,
        truncated: Array,
        infos: dict[str, Any],
        env_ids: Array,
        live: Array,
        *,
        restarts: bool,
    ) -> AgentArrays:
        """Returns the arrays of a step.

        Args:
            observations, rewards, terminated, truncated, infos: of a vector environment.
            env_ids: of the rows, int32 (n,).
            live: bool (n, k): which agents acted in this step.
            restarts: whether the step that ends an episode begins the next one (SAME_STEP).
        """
        ended = terminated | truncated
        terminations = np.repeat(terminated[:, np.newaxis], live.shape[1], 1)
        truncations = np.repeat(truncated[:, np.newaxis], live.shape[1], 1)
        if self._has_ended:
            terminations = self._last(infos, ENDED, ended, restarts, live.shape)
            # the episodes of the other players are over already
            truncations &= live
        if self._has_given:
            given = self._last(infos, GIVEN, ended, restarts, live.shape)
            # at a time limit of the engine's, those go on whom their environment did not end
            goes_on = self._last(infos, LIVE, ended, restarts, live.shape)
            truncations = (given & lib.PP_GIVEN_TRUNCATED > 0) | (truncations & goes_on)
        acting = self._live(infos, live.shape)
        if not restarts:
            acting &= ~ended[:, np.newaxis]
        return AgentArrays(
            self.blocks(observations),
            rewards.reshape(live.shape),
            terminations,
            truncations,
            acting,
            self.infos(infos),
            env_ids,
        )

    def _last(
        self, infos: dict[str, Any], name: str, ended: Array, restarts: bool, shape: tuple[int, ...]
    ) -> Array:
        """Returns a mark (n, k) of a step, also where the next episode has begun since."""
        found: Array = infos[name].reshape(shape).copy()
        if restarts and ended.any():
            found[ended] = infos["final_info"][name].reshape(shape)[ended]
        return found

    def _live(self, infos: dict[str, Any], shape: tuple[int, ...]) -> Array:
        """Returns which agents act next, bool (n, k), unless their episode is over."""
        if not self._has_live:
            return np.ones(shape, np.bool_)
        live: Array = infos[LIVE].reshape(shape).copy()
        return live

    def blocks(self, observations: Any) -> tuple[Any, ...]:
        return tuple(self._block(group, observations) for group in self.groups)

    def _block(self, group: AgentGroup, observations: Any) -> Any:
        """Returns what the agents of a group see."""
        if len(self.keys) == 1:
            return self._of_group(group, self._fields[self.keys[0]], observations)
        return {
            key: self._of_group(group, self._fields[key], observations[key]) for key in self.keys
        }

    def _of_group(self, group: AgentGroup, field: Field, values: Array) -> Array:
        """Returns the part (n, agents, ...) of a column that a group has, in its own size."""
        if not field.per_player:
            # what all players see is the same
            shape = (len(values), len(group.agents), *values.shape[1:])
            return np.broadcast_to(values[:, np.newaxis], shape).copy()
        if len(self.possible_agents) == 1:
            values = values[:, np.newaxis]
        part: Array = values[self._parts[group.agents, field.name]]
        return part

    def infos(self, infos: dict[str, Any]) -> dict[Any, Any]:
        """Returns a vector environment's infos by agent; those of all players stay as they are."""
        found: dict[Any, Any] = {agent: {} for agent in self.possible_agents}
        for key, values in infos.items():
            field = self._fields.get(key)
            if self._is_mark(key) or (key.startswith("_") and self._is_mark(key[1:])):
                continue
            if field is not None and field.is_info and field.per_player:
                masks = self._masks(infos, key)
                for player, agent in enumerate(self.possible_agents):
                    mask = masks[player]
                    if mask is None:
                        continue
                    own = values if len(self.possible_agents) == 1 else values[:, player]
                    if field.player_sizes is not None:
                        own = own[:, : field.player_sizes[player]]
                    found[agent][key] = own.copy()
                    found[agent][f"_{key}"] = mask
            elif not (key.startswith("_") and self._is_mask(key[1:])):
                found[key] = values
        if "final_obs" in found:
            found["final_obs"] = self._finals(found["final_obs"], found["_final_obs"])
        if "final_info" in found:
            found["final_info"] = self.infos(found["final_info"])
        return found

    def _masks(self, infos: dict[str, Any], key: str) -> list[Array | None]:
        """Returns for each player which environments have an info of it; None if none has.

        That is known where the environment says what it gives.
        """
        mask: Array = infos[f"_{key}"]
        if not self._has_given:
            return [mask.copy() for _ in self.possible_agents]
        given = infos[GIVEN].reshape(len(mask), -1).T
        masks = (given & self._bits[key] > 0) & mask
        return [own if some else None for own, some in zip(masks, masks.any(1), strict=True)]

    def _is_mark(self, key: str) -> bool:
        return key in self._marks

    def _is_mask(self, key: str) -> bool:
        field = self._fields.get(key)
        return field is not None and field.is_info and field.per_player

    def _finals(self, finals: Array, is_final: Array) -> dict[Any, Any]:
        """Returns the last observations of ended episodes by agent: arrays (n, ...)."""
        found: dict[Any, Any] = {}
        ended_finals = [final for final, ended in zip(finals, is_final, strict=True) if ended]
        for group in self.groups:
            block = groups.zeros(group.observation_space, (len(finals), len(group.agents)))
            rows = self._block(group, map_leaves(lambda *each: np.stack(each), *ended_finals))
            put_rows(block, is_final, rows)
            found.update(groups.by_agent(group, block))
        return {agent: found[agent] for agent in self.possible_agents}

    def state(self, seen: Any) -> Array:
        """Returns all that the agents see, one after another (n, ...), as mpe2 does.

        Args:
            seen: what `Pool.observe` returns.
        """
        parts = []
        for player in range(len(self.possible_agents)):
            for key in self.keys:
                field, values = self._fields[key], getattr(seen, key)
                if field.per_player and len(self.possible_agents) > 1:
                    values = values[:, player]
                ends = tuple(slice(size) for size in field.of_player(player).shape)
                parts.append(values[(slice(None), *ends)].reshape(len(values), -1))
        return np.concatenate(parts, axis=1)


def _part(group: AgentGroup, field: Field) -> tuple[Any, ...]:
    """Returns the index of a group's part of a column (n, k, ...), in the group's own size."""
    shape = field.of_player(group.indices[0]).shape
    return slice(None), group.columns, *(slice(size) for size in shape)


def _space(fields: Sequence[Field], player: int) -> Any:
    """Returns the space of what a player sees."""
    if len(fields) == 1:
        return fields[0].of_player(player).space()
    from gymnasium import spaces

    return spaces.Dict([(field.name, field.of_player(player).space()) for field in fields])
