"""The paper's §4.1: a simulated gridworld whose rewards and modes are known."""
