"""Tracing: where the time of a loop goes. `pool.trace()` makes a `Trace`."""
