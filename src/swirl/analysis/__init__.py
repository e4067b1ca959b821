"""What fits say: metrics, comparison and choice, bootstrap, predictive checks, behaviour, signals, names of modes."""
