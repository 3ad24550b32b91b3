"""The Python core: pools, arguments, actions, memory, the registry of native environments."""
