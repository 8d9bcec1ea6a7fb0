"""The ``vstore`` command: the only place that reads the environment and the terminal."""
