"""EnvPool 1.2.5's Atari environment as a model of ale-py and OpenCV: what `<Game>-v5` must equal.

The rules were found by running the EnvPool wheel; integration/compare/envpool_atari.py holds this
file to the wheel, and the parity tests hold parallel_pool to this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ale_py
import cv2
import numpy as np
from ale_py import roms
from numpy.typing import NDArray

ROWS = 210  # of every screen, however tall: the bottom of a PAL picture is cut off
UINT32 = 2**32


# One name for each set of options that the comparisons run through.
OPTION_SETS: dict[str, dict[str, Any]] = {
    "default": {},
    "life": {"episodic_life": True},
    "sticky": {"repeat_action_probability": 0.25},
    "full": {"full_action_space": True},
    "rgb": {"gray_scale": False},
    "skip1": {"frame_skip": 1},
    "skip2": {"frame_skip": 2},
    "limit": {"max_episode_steps": 150, "reward_clip": True, "episodic_life": True},
    "zero life": {"zero_discount_on_life_loss": True, "episodic_life": True},
    "zero": {"zero_discount_on_life_loss": True, "max_episode_steps": 90},
    "linear": {"use_inter_area_resize": False},
    "linear rgb": {"use_inter_area_resize": False, "gray_scale": False},
    "42x42": {"img_height": 42, "img_width": 42},
    "105x80": {"img_height": 105, "img_width": 80},
    "128x128": {"img_height": 128, "img_width": 128},
    "210x160": {"img_height": 210, "img_width": 160},
    "300x200": {"img_height": 300, "img_width": 200},
    "84x250": {"img_height": 84, "img_width": 250},
    "7x5": {"img_height": 7, "img_width": 5},
    "noop1": {"noop_max": 1},
    "noop100": {"noop_max": 100, "episodic_life": True},
    "noop1500": {"noop_max": 1500, "episodic_life": True},
    "noop1500 no fire": {"noop_max": 1500, "episodic_life": True, "use_fire_reset": False},
    "no fire": {"use_fire_reset": False},
    "stack1": {"stack_num": 1},
    "stack2 rgb": {"stack_num": 2, "gray_scale": False},
    "skip0": {"frame_skip": 0, "max_episode_steps": 20},
    "skip3": {"frame_skip": 3},
    "skip10": {"frame_skip": 10},
    "skip40": {"frame_skip": 40},
    "limit1": {"max_episode_steps": 1},
    "limit7": {"max_episode_steps": 7, "episodic_life": True},
    "mixed": {
        "episodic_life": True,
        "repeat_action_probability": 0.25,
        "frame_skip": 2,
        "gray_scale": False,
    },
    "sticky1": {"repeat_action_probability": 1.0, "max_episode_steps": 100},
    "difficulty1": {"difficulty": 1},
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """EnvPool's options with EnvPool's names and defaults."""

    stack_num: int = 4
    frame_skip: int = 4
    noop_max: int = 30
    zero_discount_on_life_loss: bool = False
    episodic_life: bool = False
    reward_clip: bool = False
    use_fire_reset: bool = True
    img_height: int = 84
    img_width: int = 84
    mode: int = -1
    difficulty: int = -1
    full_action_space: bool = False
    repeat_action_probability: float = 0.0
    use_inter_area_resize: bool = True
    gray_scale: bool = True
    max_episode_steps: int = 27000


@dataclass(frozen=True)
class Output:
    """What one reset or step returns for one environment.

    observation: uint8 (stack_num, H, W), or (3 * stack_num, H, W) in colour, oldest frame first
    terminated, truncated: EnvPool's, which never sets both
    ended: the game is over or a life was lost, also on the step of the time limit
    discount, game_discount: EnvPool's, and the same as if there were no time limit
    game_over, lives, raw_reward, ram, elapsed: the infos terminated, lives, reward, ram and
        elapsed_step
    """

    observation: NDArray[np.uint8]
    reward: float
    terminated: bool
    truncated: bool
    ended: bool
    discount: float
    game_discount: float
    step_type: int
    game_over: bool
    lives: int
    raw_reward: float
    ram: NDArray[np.uint8]
    elapsed: int


def int32(value: int) -> int:
    """The value as a 32-bit signed integer wraps it."""
    return (value + 2**31) % UINT32 - 2**31


class EnvPoolAtari:
    """One environment of an EnvPool pool. `seed` is its own: the pool's seed plus its index.

    rom: ale-py's name of the game, "pong" or "space_invaders"
    """

    def __init__(self, rom: str, seed: int, **options: Any) -> None:
        self.options = o = Options(**options)
        seed = int32(seed)
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", o.repeat_action_probability)
        self.ale.setInt("random_seed", seed)
        path = roms.get_rom_path(rom)
        if path is None:
            raise ValueError(f"ale-py has no ROM {rom!r}")
        self.ale.loadROM(path)
        if o.mode >= 0:
            self.ale.setMode(o.mode)
        if o.difficulty >= 0:
            self.ale.setDifficulty(o.difficulty)
        self.actions = (
            self.ale.getLegalActionSet() if o.full_action_space else self.ale.getMinimalActionSet()
        )
        self._fire = o.use_fire_reset and ale_py.Action.FIRE in self.actions
        self._words = np.random.RandomState(seed % UINT32)
        shape = (ROWS, 160) if o.gray_scale else (ROWS, 160, 3)
        self._screens = [np.zeros(shape, np.uint8) for _ in range(2)]
        planes = 1 if o.gray_scale else 3
        self._stack = np.zeros((o.stack_num, planes, o.img_height, o.img_width), np.uint8)
        self._elapsed = o.max_episode_steps + 1
        self._done = True
        self._lives = 0
        self.frames_left = 0  # of the last step: not played because the game was over
        self.ends_in_noops = 0  # games that the no-ops of the last reset ended

    def reset(self, force: bool = True) -> Output:
        """Starts an episode; without force, as after a done step, a lost life may continue it."""
        o = self.options
        noops = self._draw(o.noop_max) + 1 - self._fire
        full = force or not o.episodic_life or self._elapsed >= o.max_episode_steps
        full = full or self.ale.game_over()
        if full:
            self.ale.reset_game()
            self._elapsed = 0
        self.ends_in_noops = 0
        for _ in range(noops):
            self.ale.act(ale_py.Action.NOOP)
            if self.ale.game_over():
                self.ends_in_noops += 1
                self.ale.reset_game()
                full = True
        if self._fire:
            self.ale.act(ale_py.Action.FIRE)
        self._screens[0] = self._screen()
        self._push(fill=full)
        self._done = False
        self._lives = self.ale.lives()
        return self._output(0.0, ended=False, truncated=False, step_type=0, game_discount=1.0)

    def step(self, action: int) -> Output:
        """Plays frame_skip frames; on a done environment it resets instead (NEXT_STEP)."""
        if self._done:
            return self.reset(force=False)
        o = self.options
        reward, over = self._play(action)
        self._push(fill=False)
        self._elapsed += 1
        lives_before, self._lives = self._lives, self.ale.lives()
        ended = over or (o.episodic_life and 0 < self._lives < lives_before)
        truncated = self._elapsed >= o.max_episode_steps
        self._done = ended or truncated
        lost_life = o.zero_discount_on_life_loss and self._lives != lives_before
        return self._output(
            reward,
            ended=ended,
            truncated=truncated,
            step_type=2 if self._done else 1,
            game_discount=0.0 if ended or lost_life else 1.0,
        )

    def _play(self, action: int) -> tuple[float, bool]:
        """The skipped frames: sum of rewards, game over. Leaves the picture in screens[0]."""
        captured = min(self.options.frame_skip, 2)
        reward, over, left = 0, False, self.options.frame_skip
        while left > 0 and not over:
            reward += self.ale.act(self.actions[action])
            over = self.ale.game_over()
            if left <= captured:
                self._screens[captured - left] = self._screen()
            left -= 1
        self.frames_left = left
        # a game that ends early leaves the frame of that moment, or an older one
        if self.options.frame_skip > 1 and left == 0:
            self._screens[0] = np.maximum(*self._screens)
        return float(reward), over

    def _draw(self, n: int) -> int:
        """std::uniform_int_distribution(0, n - 1) of libstdc++ 11 and later over std::mt19937."""
        while True:
            product = int.from_bytes(self._words.bytes(4), "little") * n
            low = product % UINT32
            if low >= n or low >= (UINT32 - n) % n:
                return product // UINT32

    def _screen(self) -> NDArray[np.uint8]:
        gray = self.options.gray_scale
        screen = self.ale.getScreenGrayscale() if gray else self.ale.getScreenRGB()
        return np.ascontiguousarray(screen[:ROWS])

    def _push(self, *, fill: bool) -> None:
        """Adds the resized screens[0] to the stack, or fills the whole stack with it."""
        o = self.options
        method = cv2.INTER_AREA if o.use_inter_area_resize else cv2.INTER_LINEAR
        size = (o.img_width, o.img_height)
        frame = cv2.resize(self._screens[0], size, interpolation=method)
        frame = frame.reshape(o.img_height, o.img_width, -1).transpose(2, 0, 1)
        self._stack = np.roll(self._stack, -1, axis=0)
        self._stack[slice(None) if fill else -1] = frame

    def _output(
        self,
        raw_reward: float,
        *,
        ended: bool,
        truncated: bool,
        step_type: int,
        game_discount: float,
    ) -> Output:
        clip = self.options.reward_clip
        return Output(
            observation=self._stack.reshape(-1, *self._stack.shape[2:]).copy(),
            reward=float(np.sign(raw_reward)) if clip else raw_reward,
            terminated=ended and not truncated,
            truncated=truncated,
            ended=ended,
            discount=0.0 if truncated else game_discount,
            game_discount=game_discount,
            step_type=step_type,
            game_over=self.ale.game_over(),
            lives=self._lives,
            raw_reward=raw_reward,
            ram=self.ale.getRAM(),
            elapsed=self._elapsed,
        )
