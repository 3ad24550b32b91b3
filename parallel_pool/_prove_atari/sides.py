"""The sides of a proof: a game on our consoles, and the same game on ale_py's.

On our side a session is played by several consoles at once. Each build has one that draws every
frame, so that each frame can be compared. Where a step has several frames, each build has another
one that is used as an environment uses it: it runs all frames of a step at once, draws the last one
only, and shows that one and the sum of the rewards. The first kind proves what happens in every
frame, the second that frames which are not drawn lead to the same end.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from ale_py import ALEInterface, LoggerMode, roms
from numpy.typing import NDArray

from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from parallel_pool._families import atari_proofs
from parallel_pool._prove_atari import builds
from parallel_pool._prove_atari.schedule import Session

Bytes = NDArray[np.uint8]

# number of environments of one of our consoles: one plays, and the other can take over its state
ENVS = 2


class Frame(NamedTuple):
    """What is compared after a frame or a reset.

    Attributes:
        reward: of the frame; 0 after a reset. With several players, one for each; so are lives.
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
        ...

    def reset(self, seed: int | None) -> Frame:
        """Starts a game; with a seed, switches the console off and on before."""
        ...

    def step(self, action: int) -> list[Frame]:
        """Plays an action, by its index in the session's action set, and returns its frames.

        A side may leave out frames after the end of the game, in which nothing happens.
        """
        ...


class OurSide(Side, Protocol):
    """One of our consoles, whose state can be saved.

    Attributes:
        name: which one, in words.
        skips: whether `step` returns only the last frame, with the reward of all.
    """

    name: str
    skips: bool

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
        self.session = session
        self.ale = oracle(session.rom, ale_seed(session.number), session.style.sticky)
        self.choose_setting()
        full = session.style.full_actions
        self.actions = self.ale.getLegalActionSet() if full else self.ale.getMinimalActionSet()

    def choose_setting(self) -> None:
        if self.session.mode is not None:
            self.ale.setMode(self.session.mode)
        if self.session.difficulty is not None:
            self.ale.setDifficulty(self.session.difficulty)

    @property
    def num_actions(self) -> int:
        return len(self.actions)

    def reset(self, seed: int | None) -> Frame:
        if seed is not None:
            self.ale.setInt("random_seed", ale_seed(seed))
            self.ale.loadROM(path_of(self.session.rom))
            self.choose_setting()
        self.ale.reset_game()
        return self.frame(0.0)._replace(over=False)

    def step(self, action: int) -> list[Frame]:
        button = self.actions[action]
        count = self.session.style.frame_skip
        return [self.frame(float(self.ale.act(button))) for _ in range(count)]

    def frame(self, reward: float) -> Frame:
        ale = self.ale
        return Frame(reward, ale.lives(), ale.game_over(), ale.getRAM(), ale.getScreenRGB())


def path_of(rom: str) -> Path:
    """Returns the file of a ROM."""
    path = roms.get_rom_path(rom)
    if path is None:
        raise FileNotFoundError(f"ale_py has no ROM of {rom}")
    return path


def oracle(rom: str, seed: int = 1, sticky: float = 0.0) -> ALEInterface:
    """Returns ale_py's emulator with a ROM; it logs errors only."""
    path = path_of(rom)
    ALEInterface.setLoggerMode(LoggerMode.Error)
    ale = ALEInterface()
    ale.setInt("random_seed", seed)
    ale.setFloat("repeat_action_probability", sticky)
    ale.loadROM(path)
    return ale


class PoolSide:
    """Some environments of a pool, one of which plays.

    Attributes:
        name, skips: as in OurSide.
    """

    def __init__(
        self,
        task_id: str,
        session: Session,
        options: Mapping[str, Any],
        build: str,
        *,
        skips: bool,
        envs: int,
    ) -> None:
        self.name = f"{build}, skipping frames" if skips else build
        self.skips = skips
        self.steps = 1 if skips else session.style.frame_skip
        with builds.using(build), atari_proofs.proving():
            self.pool = Pool(
                task_id,
                envs,
                num_threads=1,
                autoreset="disabled",
                max_episode_steps=0,
                # so that the other environments have other states
                seed=[session.number + i for i in range(envs)],
                reward_dtype="float64",
                options=options,
            )
        self.names = [column.name for column in self.pool.columns]
        self.playing = 0
        self.saved = b""
        self.has_past = False

    def play(self, actions: NDArray[np.int64]) -> Any:
        """Returns what the pool takes for some actions of the session's action set."""
        return actions

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

    def reset(self, seed: int | None) -> Frame:
        return self._frame(self.pool.reset([self.playing], seed=None if seed is None else [seed]))

    def step(self, action: int) -> list[Frame]:
        frames: list[Frame] = []
        played = self.play(np.array([action]))
        while len(frames) < self.steps and not (frames and frames[-1].over):
            frames.append(self._frame(self.pool.step(played, [self.playing])))
        return frames

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
    """Some environments of a pool of ALE/<Game>-v5; see PoolSide."""

    def __init__(
        self, session: Session, build: str, *, skips: bool, draws: bool = True, envs: int = ENVS
    ) -> None:
        options: dict[str, Any] = {
            "obs_type": "rgb" if draws else "ram",
            "ram_info": True,
            "frameskip": session.style.frame_skip if skips else 1,
            "repeat_action_probability": session.style.sticky,
            "full_action_space": session.style.full_actions,
        }
        if session.mode is not None:
            options |= {"mode": session.mode, "difficulty": session.difficulty}
        super().__init__(ids()[session.rom], session, options, build, skips=skips, envs=envs)
