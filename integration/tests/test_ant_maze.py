"""PPO on an ant maze: the lengths of ways."""

from __future__ import annotations

import numpy as np

from integration.training import ant_maze


def test_ways_lead_around_the_wall() -> None:
    ways = ant_maze.Ways(ant_maze.MAZE)
    begin = np.array([-4.0, 4.0])
    goals = np.array([[-4.0, 4.0], [4.0, 4.0], [4.0, -4.0], [-4.0, -4.0]])
    found = ways.lengths(np.broadcast_to(begin, goals.shape), goals)
    # the wall ends at x = 2, and is 4 m thick
    around = 2 * np.hypot(6, 2) + 4
    straight = [0.0, 8.0, np.hypot(6, 2) + np.hypot(2, 6), around]
    # a grid with diagonals makes ways up to 8.3 % longer
    assert (found >= np.array(straight) - 0.5).all()
    assert (found <= np.array(straight) * 1.083 + 0.5).all()
    assert np.isinf(ways.lengths(np.array([[0.0, 0.0]]), goals[:1])).all()
