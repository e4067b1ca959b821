"""A fitted model as one HTML file: it opens offline, prints, and can be mailed to a colleague.

>>> import swirl
>>> from swirl import report
>>> data = swirl.datasets.gridworld(n_sessions=2, n_steps=40)
>>> page = report.build(data.true_model(), data.trajectories, n_draws=0, title="Two short walks")
>>> page.startswith("<!doctype html>"), "Two short walks" in page
(True, True)
"""

from swirl.report.writing import build, write

__all__ = ["build", "write"]
