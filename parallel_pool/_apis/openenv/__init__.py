"""OpenEnv: pools behind its HTTP and WebSocket protocol, and its servers as environments."""
