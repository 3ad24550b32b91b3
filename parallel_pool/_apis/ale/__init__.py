"""ale-py's `AtariVectorEnv`."""
