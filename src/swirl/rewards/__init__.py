"""Reward forms: what r may depend on, and how it is fitted.

`forms`         the options a user gives: "state", "state-action", Linear(features), Network(...)
`component`     what EM asks of any of them
`state`         r(h), fitted through its values: the exact solver
`habit_goals`   r(h) of a habit that all modes share and goals of each mode
`goals`         places that modes want, planned, on a shared habit that does not know the place
`state_action`  r(h, a), fitted through its policy: closed form
`parametric`    any form, by soft-Q planning and its implicit gradient: the paper's solver, and the oracle
`iq_learn`, `iq_network`  model-free: IQ-Learn's objective, on tables and on networks
`soft_q`        soft Bellman equation, planning, Boltzmann policy
`backoff`       the penalty that lets long histories borrow from short ones
`gauge`         which rewards the data cannot tell apart;  `tables`  dense tables and long lists
"""

from swirl.rewards.forms import Goals, Habit, Linear, Network, Tabular

__all__ = ["Goals", "Habit", "Linear", "Network", "Tabular"]
