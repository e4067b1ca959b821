"""The demonstration behind `make demo` and `swirl demo`."""

from swirl.workflows.demo.run import run_demo

__all__ = ["run_demo"]
