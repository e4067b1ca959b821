"""A recorded signal (dopamine, a neuron) beside the modes: its mean in each, and its course around starts and ends.

Steps that follow one another are alike, and so are bouts of one session, so standard errors are over sessions (over
subjects where several are known): each gives one mean, and these are averaged.  How the signal goes with the *reward*
is told by `signals.signal_test`.
"""

from swirl.triggered.average import TriggeredAverage, mode_triggered_average
from swirl.triggered.means import SignalByMode, mean_and_error, signal_by_mode

__all__ = ["SignalByMode", "TriggeredAverage", "mean_and_error", "mode_triggered_average", "signal_by_mode"]
