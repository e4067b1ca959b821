"""A fitted model as one HTML file: it opens offline, prints, and can be mailed to a colleague.

>>> import swirl
>>> from swirl import report
>>> data = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
>>> page = report.build(data.true_model(), data.trajectories, n_draws=0, title="Short walks")
>>> page.startswith("<!doctype html>"), "Short walks" in page
(True, True)
"""

from swirl.report.writing import build, write

__all__ = ["build", "write"]
