"""Planted differences: correct ports of four environments, and changes that make them wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PORTS = Path(__file__).resolve().parent / "ports"
ENVS = ROOT / "csrc" / "envs"


def cart() -> str:
    return (PORTS / "cart.c").read_text()


def glider() -> str:
    return (PORTS / "glider.c").read_text()


def cards() -> str:
    """The package's own Blackjack."""
    text = (ENVS / "toy_text" / "blackjack.c").read_text()
    return _renamed(text, "Blackjack-v1", "toy_text", "port/Cards-v1")


def valley() -> str:
    """The package's own MountainCar, in one file."""
    folder = ENVS / "classic_control"
    text = (folder / "mountain_car.c").read_text()
    text = _replaced(text, '#include "valley.h"', (folder / "valley.h").read_text())
    return _renamed(text, "MountainCar-v0", "classic_control", "port/Valley-v0")


def _renamed(text: str, task_id: str, family: str, new: str) -> str:
    text = _replaced(text, f'.id = "{task_id}"', f'.id = "{new}"')
    return _replaced(text, f'.family = "{family}"', '.family = "port"')


def _replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    return text.replace(old, new)


PORT_TEXTS = {"cart": cart, "glider": glider, "cards": cards, "valley": valley}
REFERENCES = {
    "cart": "CartPole-v1",
    "glider": str(PORTS / "glider.py"),
    "cards": "Blackjack-v1",
    "valley": "MountainCar-v0",
}


@dataclass(frozen=True)
class Planted:
    """A difference.

    Attributes:
        name: what is wrong.
        port: which port.
        edits: texts and what replaces them.
        place: what the message begins with, after the names.
        mode: the only autoreset mode that is compared; "": all.
    """

    name: str
    port: str
    edits: tuple[tuple[str, str], ...]
    place: str
    mode: str = ""

    def text(self) -> str:
        made = PORT_TEXTS[self.port]()
        for old, new in self.edits:
            made = _replaced(made, old, new)
        return made


PLANTED = [
    Planted(
        "a float32 rounding",
        "cart",
        (("it->theta = it->theta + 0.02 *", "it->theta = (float)it->theta + 0.02 *"),),
        "observation[",
    ),
    Planted(
        "a draw too many",
        "cart",
        (
            (
                "  return PP_OK;\n}\n\nstatic int step",
                "  pp_rng_double(env->rng);\n  return PP_OK;\n}\n\nstatic int step",
            ),
        ),
        "",
    ),
    Planted(
        "<= for <",
        "cards",
        (("sum(&it->dealer) < DEALER_STICKS", "sum(&it->dealer) <= DEALER_STICKS"),),
        "",
    ),
    Planted(
        "draws in another order",
        "cards",
        (
            ("for (int i = 0; i < 2; i++) draw_card(env->rng, &it->dealer);", ";"),
            (
                "draw_card(env->rng, &it->player);\n",
                "draw_card(env->rng, &it->player);\n"
                "  for (int i = 0; i < 2; i++) draw_card(env->rng, &it->dealer);\n",
            ),
        ),
        "observation[",
    ),
    Planted(
        "a draw that only some resets need",
        "cards",
        (("  if (it->dealer.first == TEN) it->face", "  it->face"),),
        "",
    ),
    Planted(
        "a reset that forgets a field",
        "valley",
        (("  it->velocity = 0;\n  return PP_OK;", "  return PP_OK;"),),
        "observation[",
    ),
    Planted(
        "a time limit off by one",
        "cart",
        ((".max_episode_steps = 500", ".max_episode_steps = 499"),),
        "spec.max_episode_steps",
    ),
    Planted(
        "the environment's own limit off by one",
        "glider",
        (("it->steps >= 40", "it->steps > 40"),),
        "truncated[",
    ),
    Planted(
        "a stale info",
        "glider",
        (
            ("  int64_t score;\n", "  int64_t score;\n  float shown;\n"),
            (
                "  it->distance = it->distance + fabsf",
                "  it->shown = it->distance;\n  it->distance = it->distance + fabsf",
            ),
            ("*(float *)rows[3] = it->distance", "*(float *)rows[3] = it->shown"),
        ),
        "info['distance'][",
    ),
    Planted(
        "the sign of zero",
        "glider",
        (("obs[2] = it->tilt * -1.0f", "obs[2] = 0.0f - it->tilt"),),
        "observation[",
    ),
    Planted(
        "an info of another dtype",
        "glider",
        (
            (
                '"left", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT64',
                '"left", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT32',
            ),
            ("*(int64_t *)rows[1] = it->left", "*(int32_t *)rows[1] = (int32_t)it->left"),
        ),
        "dtype of info['left']",
    ),
    Planted(
        "an option that is ignored",
        "cart",
        (("if (env->options[0].i)", "if (0)"),),
        "reward[",
    ),
    Planted(
        "the reward of the last step",
        "cart",
        (("  result->reward[0] = 1;", "  result->reward[0] = result->terminated ? 0 : 1;"),),
        "reward[",
    ),
    Planted(
        "clipped before it is used, not after",
        "valley",
        (
            (
                "double velocity = clip(it->velocity + push, -MAX_SPEED, MAX_SPEED);",
                "double velocity = it->velocity + push;",
            ),
            (
                "MIN_POSITION, MAX_POSITION);\n\n",
                "MIN_POSITION, MAX_POSITION);\n"
                "  velocity = clip(velocity, -MAX_SPEED, MAX_SPEED);\n\n",
            ),
        ),
        "",
    ),
    Planted(
        "an error after many steps",
        "cart",
        (
            (
                "  cart *it = env->state;\n  double force",
                "  cart *it = env->state;\n"
                '  if (*env->elapsed > 150) return pp_fail(env->error, PP_ERR_ENV, "too late");\n'
                "  double force",
            ),
        ),
        "error",
    ),
    Planted(
        "a rare region of the state space",
        "cart",
        (
            (
                "  result->terminated =",
                "  if (it->x > 1.8) it->x_dot *= 1.0000001;\n  result->terminated =",
            ),
        ),
        "observation[",
    ),
    Planted(
        "the wall that stops the car",
        "valley",
        (("if (position == MIN_POSITION && velocity < 0) velocity = 0;", ""),),
        "observation[",
    ),
    Planted(
        "the final observation in same_step mode",
        "glider",
        (("obs[0] = it->height;", "obs[0] = it->height < 0 ? 0 : it->height;"),),
        "info['final_obs'][",
        mode="same_step",
    ),
    Planted(
        "a reset without a seed that seeds again",
        "glider",
        (
            ("  int32_t steps;\n", "  int32_t steps;\n  pp_rng first;\n"),
            (
                "  it->height = (float)pp_rng_uniform",
                "  if (!it->first.inc_low) it->first = *env->rng;\n"
                "  else if (how->forced) *env->rng = it->first;\n"
                "  it->height = (float)pp_rng_uniform",
            ),
        ),
        "",
        mode="next_step",
    ),
    Planted(
        "a counter that outlives episodes",
        "cart",
        (
            ("x, x_dot, theta, theta_dot;", "x, x_dot, theta, theta_dot;\n  int32_t total;"),
            (
                "  result->terminated =",
                "  if (++it->total > 5000) it->x = 0;\n  result->terminated =",
            ),
        ),
        "observation[",
    ),
    Planted(
        "a wrong bound of a space",
        "cart",
        (
            (
                "highs[4] = {2 * MAX_X, INFINITY, 2 * MAX_THETA,",
                "highs[4] = {2 * MAX_X, INFINITY, 2.0000003 * MAX_THETA,",
            ),
        ),
        "single_observation_space.high[2]",
    ),
    Planted(
        "truncated and terminated at once",
        "glider",
        (("!result->terminated && it->steps >= 40", "it->steps >= 40"),),
        "truncated[",
    ),
    Planted(
        "a corner of the actions",
        "glider",
        (
            (
                "  float gust =",
                "  if (thrust[0] == 1 && thrust[1] == -1) lift = 0.99f;\n  float gust =",
            ),
        ),
        "observation[",
    ),
    Planted(
        "an integer that overflows",
        "glider",
        (
            ("  int64_t score;\n", "  int16_t score;\n"),
            ("it->score += 50 * it->steps", "it->score = (int16_t)(it->score + 50 * it->steps)"),
        ),
        "info['score'][",
    ),
    Planted(
        "a float64 constant in float32 arithmetic",
        "glider",
        (("lift * 0.05f - 0.01f", "(float)(lift * 0.05 - 0.01)"),),
        "observation[",
    ),
    Planted(
        "only the picture",
        "glider",
        (("int line = 7 - (int)(clipped * 2)", "int line = (int)(clipped * 2)"),),
        "pictures[",
    ),
]
