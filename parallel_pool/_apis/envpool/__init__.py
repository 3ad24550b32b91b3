"""EnvPool's API."""
