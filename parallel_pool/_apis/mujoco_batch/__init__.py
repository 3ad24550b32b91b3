"""Tasks in vectorised Python on `mujoco.batch`."""
