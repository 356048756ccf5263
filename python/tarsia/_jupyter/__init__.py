"""The Jupyter kernel: cells of notebooks are those of a session in a child process."""
