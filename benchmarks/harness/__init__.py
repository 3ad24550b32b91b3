"""How to measure: interleaved rounds, processes, machine facts, tables."""
