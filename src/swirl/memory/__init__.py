"""How much memory a fit will need, told before it starts: one that cannot end is refused at once, with advice.

What the code holds at a time was read from it, and then measured (`benchmarks/memory.py`).  A fit has its peak in one
of four moments, and what is held in that moment is the prediction:

`reading`     numbering the history at every step: some 150 bytes a step, whatever the model;
`E-step`      with numba, messages of one group of sessions per thread; through XLA, of all steps and restarts at once;
`M-step`      all modes and restarts side by side over all histories;
`afterwards`  policies of the kept restart, and the gauge of r(h): sparse matrices over histories and actions.
"""

from swirl.machine import amount
from swirl.memory.account import Prediction
from swirl.memory.prediction import predict
from swirl.memory.sizes import Sizes, count_paths
from swirl.memory.verdict import available, check

__all__ = ["Prediction", "Sizes", "amount", "available", "check", "count_paths", "predict"]
