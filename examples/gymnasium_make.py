"""Gymnasium's gymnasium.make: one native CartPole beside Gymnasium's own, with the same bits.

Run: python examples/gymnasium_make.py
"""

import gymnasium

import parallel_pool  # noqa: F401 - registers the ids

ours, theirs = gymnasium.make("parallel_pool/CartPole-v1"), gymnasium.make("CartPole-v1")
observation, _ = ours.reset(seed=1)
expected, _ = theirs.reset(seed=1)
steps, is_over = 0, False
while not is_over:
    assert observation.tobytes() == expected.tobytes()
    action = int(observation[2] + observation[3] > 0)  # where the pole falls
    observation, reward, terminated, truncated, _ = ours.step(action)
    expected, *rest, _ = theirs.step(action)
    assert [reward, terminated, truncated] == rest
    steps, is_over = steps + 1, terminated or truncated
print(f"{steps} steps of {ours.unwrapped} are those of {theirs.unwrapped}, bit by bit")
ours.close()
theirs.close()
