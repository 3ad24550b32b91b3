"""The two sides of a proof with several players: our console, and multi_agent_ale_py's.

Both sides play one action for all players together: with n actions for each, the digits of the
action's number to the base n, the first player's lowest.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from ale_py import roms
from numpy.typing import NDArray

from parallel_pool._engine import registry
from parallel_pool._prove_atari.schedule import Session
from parallel_pool._prove_atari.sides import ENVS, Frame, PoolSide
from parallel_pool.errors import MissingDependencyError

FAMILY = "atari_players"

# The values of the options that choose a mode, the default first. Pong's versions depend on the
# number of players.
VERSIONS = ("classic", "two_paddles", "soccer", "foozpong", "hockey", "handball", "volleyball")
SWITCHES = (False, True)
OPTIONS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "basketball_pong": {"num_players": (2, 4)},
    "combat_plane": {"game_version": ("bi-plane", "jet"), "guided_missile": (True, False)},
    "combat_tank": {
        "has_maze": (True, False),
        "is_invisible": SWITCHES,
        "billiard_hit": (True, False),
    },
    "foozpong": {"num_players": (4, 2)},
    "maze_craze": {
        "game_version": ("robbers", "race", "capture"),
        "visibilty_level": range(4),
    },
    "pong": {"num_players": (2, 4), "game_version": (*VERSIONS, "basketball", "quadrapong")},
    "space_invaders": {
        "alternating_control": SWITCHES,
        "moving_shields": (True, False),
        "zigzaging_bombs": SWITCHES,
        "fast_bomb": SWITCHES,
        "invisible_invaders": SWITCHES,
    },
    "volleyball_pong": {"num_players": (4, 2)},
}


@cache
def ids() -> Mapping[str, str]:
    """Returns the ids of our games of several players, by PettingZoo's names: "pong_v3"."""
    known = registry.builtin().values()
    return {each.id.rpartition("/")[2]: each.id for each in known if each.family == FAMILY}


def reference(name: str, **options: Any) -> Any:
    """Returns PettingZoo's `ParallelAtariEnv` of a game."""
    try:
        module = importlib.import_module(f"pettingzoo.atari.{name}")
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"the proof of {name} needs PettingZoo's Atari games ({error}):"
            " pip install 'pettingzoo[atari]'"
        ) from error
    return module.raw_env(auto_rom_install_path=str(rom_folder()), **options).env


def rom_folder() -> Path:
    """Returns the folder with ale_py's ROMs."""
    return Path(str(roms.get_rom_path("pong"))).parent


@cache
def settings(name: str) -> Mapping[int, Mapping[str, Any]]:
    """Returns the options that choose each mode of a game, by ALE's mode; the default first."""
    values = OPTIONS.get(name.rpartition("_v")[0], {})
    found: dict[int, Mapping[str, Any]] = {}
    for chosen in itertools.product(*values.values()):
        options = dict(zip(values, chosen, strict=True))
        if options == {"num_players": 2, "game_version": "quadrapong"}:
            continue
        found.setdefault(int(reference(name, **options).mode), options)
    return found


class Theirs:
    """PettingZoo's game, with a ROM just loaded."""

    def __init__(self, session: Session) -> None:
        self.frame_skip, self.seed = session.style.frame_skip, session.number
        options = {} if session.mode is None else settings(session.rom)[session.mode]
        full = session.style.full_actions
        self.env = reference(session.rom, full_action_space=full, **options)
        self.is_fresh = True

    @property
    def num_actions(self) -> int:
        return int(len(self.env.action_mapping) ** self.env.num_players)

    def reset(self, seed: int | None) -> Frame:
        first = self.seed if self.is_fresh else None
        self.env.reset(seed=first if seed is None else seed)
        self.is_fresh = False
        return self.frame([0.0] * self.env.num_players)

    def step(self, action: int) -> list[Frame]:
        agents = self.env.possible_agents
        chosen = digits(action, len(self.env.action_mapping), len(agents)).tolist()
        actions = dict(zip(agents, chosen, strict=True))
        frames: list[Frame] = []
        while len(frames) < self.frame_skip and self.env.agents:
            live = {agent: actions[agent] for agent in self.env.agents}
            rewards = self.env.step(live)[1]
            frames.append(self.frame([float(rewards.get(agent, 0)) for agent in agents]))
        return frames

    def frame(self, rewards: Sequence[float]) -> Frame:
        ale = self.env.ale
        lives = tuple(int(each) for each in ale.allLives())
        return Frame(tuple(rewards), lives, not self.env.agents, ale.getRAM(), ale.getScreenRGB())


class Ours(PoolSide):
    """Some environments of a pool of atari/<game>; see PoolSide."""

    def __init__(
        self, session: Session, build: str, *, skips: bool, draws: bool = True, envs: int = ENVS
    ) -> None:
        options = {
            **({} if session.mode is None else settings(session.rom)[session.mode]),
            "obs_type": "rgb_image" if draws else "ram",
            "ram_info": True,
            "frame_skip": session.style.frame_skip if skips else 1,
            "full_action_space": session.style.full_actions,
        }
        super().__init__(ids()[session.rom], session, options, build, skips=skips, envs=envs)

    @property
    def num_actions(self) -> int:
        spec = self.pool.spec
        return int(spec.action.n**spec.num_players)

    def play(self, actions: NDArray[np.int64]) -> Any:
        spec = self.pool.spec
        return np.stack([digits(each, spec.action.n, spec.num_players) for each in actions])

    def frame(self, found: Mapping[str, Any]) -> Frame:
        # those who were out before see nothing
        seen = found["obs"]
        return Frame(
            tuple(found["reward"].tolist()),
            tuple(found["lives"].tolist()),
            bool(found["terminated"]),
            found["ram"],
            max(seen, key=lambda screen: bool(screen.any())),
        )


def digits(number: Any, base: int, count: int) -> Any:
    """Returns the digits of a number, the lowest first; int64 (count,)."""
    return np.array([number // base**i % base for i in range(count)])
