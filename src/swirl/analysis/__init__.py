"""What fits say: metrics, comparison and choice, intervals, predictive checks, behaviour, signals, names of modes."""
