"""The two sides of a proof: a game on our console, and the same game on ale_py's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from ale_py import ALEInterface, LoggerMode, roms
from numpy.typing import NDArray

from parallel_pool import registry
from parallel_pool.envs import atari_proofs
from parallel_pool.pool import Pool
from parallel_pool.prove_atari.schedule import Session

Bytes = NDArray[np.uint8]

# number of environments on our side: one plays, and the other can take over its state
ENVS = 2


class Frame(NamedTuple):
    """What is compared after a step or a reset.

    Attributes:
        reward: of the step; 0 after a reset. With several players, one for each; so are lives.
        over: whether the game is over. Always False after a reset: demon_attack's mode 3 begins
            with a game that is over, which only the next step reports.
        ram: uint8 (128,).
        screen: uint8 (height, width, 3), RGB.
    """

    reward: float | tuple[float, ...]
    lives: int | tuple[int, ...]
    over: bool
    ram: Bytes
    screen: Bytes


class Side(Protocol):
    """A console with a game."""

    @property
    def num_actions(self) -> int:
        """The number of actions in the session's action set."""

    def reset(self) -> Frame:
        """Starts a game."""

    def step(self, action: int) -> Frame:
        """Plays an action, by its index in the session's action set."""


class OurSide(Side, Protocol):
    """Our console, whose state can be saved."""

    def save(self) -> None:
        """Saves the state."""

    def restore(self, *, elsewhere: bool) -> None:
        """Restores the saved state; elsewhere: in the other environment, which then plays."""

    def close(self) -> None:
        """Frees the console."""


@cache
def ids() -> Mapping[str, str]:
    """Returns the ids of our ALE environments, by ale_py's name of the game."""
    known = registry.builtin()
    return {each.variant: name for name, each in sorted(known.items()) if each.family == "ale"}


def ale_seed(seed: int) -> int:
    """Returns the seed that ale_py's AtariEnv gives its emulator."""
    word = np.random.SeedSequence(seed).generate_state(2)[1]
    return int(word.view(np.int32))


class Theirs:
    """ale_py's console, with a ROM just loaded."""

    def __init__(self, session: Session) -> None:
        self.frame_skip = session.style.frame_skip
        self.ale = oracle(session.rom, ale_seed(session.number), session.style.sticky)
        if session.mode is not None:
            self.ale.setMode(session.mode)
        if session.difficulty is not None:
            self.ale.setDifficulty(session.difficulty)
        full = session.style.full_actions
        self.actions = self.ale.getLegalActionSet() if full else self.ale.getMinimalActionSet()

    @property
    def num_actions(self) -> int:
        return len(self.actions)

    def reset(self) -> Frame:
        self.ale.reset_game()
        return self.frame(0.0)._replace(over=False)

    def step(self, action: int) -> Frame:
        button = self.actions[action]
        return self.frame(float(sum(self.ale.act(button) for _ in range(self.frame_skip))))

    def frame(self, reward: float) -> Frame:
        ale = self.ale
        return Frame(reward, ale.lives(), ale.game_over(), ale.getRAM(), ale.getScreenRGB())


def oracle(rom: str, seed: int = 1, sticky: float = 0.0) -> ALEInterface:
    """Returns ale_py's emulator with a ROM; it logs errors only."""
    path = roms.get_rom_path(rom)
    if path is None:
        raise FileNotFoundError(f"ale_py has no ROM of {rom}")
    ALEInterface.setLoggerMode(LoggerMode.Error)
    ale = ALEInterface()
    ale.setInt("random_seed", seed)
    ale.setFloat("repeat_action_probability", sticky)
    ale.loadROM(path)
    return ale


class PoolSide:
    """Two environments of a pool, one of which plays."""

    def __init__(self, env_id: str, session: Session, options: Mapping[str, Any]) -> None:
        with atari_proofs.proving():
            self.pool = Pool(
                env_id,
                ENVS,
                num_threads=1,
                autoreset="disabled",
                max_episode_steps=0,
                # so that the other environment has another state
                seed=[session.number, session.number + 1],
                reward_dtype="float64",
                options=options,
            )
        self.names = [column.name for column in self.pool.columns]
        self.playing = 0
        self.saved = b""
        self.has_past = False

    def play(self, action: int) -> Any:
        """Returns what the pool takes for an action of the session's action set."""
        return action

    def frame(self, found: Mapping[str, Any]) -> Frame:
        """Returns the frame of one row's columns."""
        return Frame(
            float(found["reward"]),
            int(found["lives"]),
            bool(found["terminated"]),
            found["ram"],
            found["obs"],
        )

    @property
    def num_actions(self) -> int:
        return int(self.pool.spec.action.n)

    def reset(self) -> Frame:
        return self._frame(self.pool.reset([self.playing]))

    def step(self, action: int) -> Frame:
        return self._frame(self.pool.step(np.array([self.play(action)]), [self.playing]))

    def _frame(self, batch: tuple[Any, ...]) -> Frame:
        return self.frame({name: array[0] for name, array in zip(self.names, batch, strict=True)})

    def save(self) -> None:
        (self.saved,) = self.pool.get_state([self.playing])

    def restore(self, *, elsewhere: bool) -> None:
        if elsewhere:
            self.playing ^= 1
            if not self.has_past:
                # so that restoring replaces a state of a game in play
                self.pool.reset([self.playing])
                self.has_past = True
        self.pool.set_state([self.saved], [self.playing])

    def close(self) -> None:
        self.pool.close()


class Ours(PoolSide):
    """Two environments of a pool, one of which plays."""

    def __init__(self, session: Session) -> None:
        options: dict[str, Any] = {
            "obs_type": "rgb",
            "ram_info": True,
            "frameskip": session.style.frame_skip,
            "repeat_action_probability": session.style.sticky,
            "full_action_space": session.style.full_actions,
        }
        if session.mode is not None:
            options |= {"mode": session.mode, "difficulty": session.difficulty}
        super().__init__(ids()[session.rom], session, options)
