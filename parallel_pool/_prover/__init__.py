"""The prover of ports: plays an environment and its reference, and compares all they return."""
