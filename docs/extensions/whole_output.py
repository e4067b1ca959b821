"""Run by IPython as it starts: %%bash prints once, at the end, and a command that fails stops the page."""

import subprocess

from IPython import get_ipython


def bash(line: str, cell: str) -> None:
    """Run the cell in bash; IPython's own magic hands the output on in pieces of 100 characters."""
    done = subprocess.run(
        ["bash", "-e", "-c", cell], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    print(done.stdout.strip("\n"))  # noqa: T201
    done.check_returncode()


get_ipython().register_magic_function(bash, "cell", "bash")
