"""What a translated environment's bits depend on: paths for the mark `proven` of its tests.

The translator itself and `_contract`, which compares, are there because the tests import them.
"""

OF_TRANSLATED = (
    *("csrc/base", "csrc/include", "csrc/native", "csrc/os", "csrc/pool", "csrc/threads"),
    *("parallel_pool/_engine", "parallel_pool/_source"),
)
