"""Reward forms: what r may depend on, and how it is fitted.

`forms`     the options a user gives: "state", "state-action", Linear(features), Network(...)
`values`    r(h), fitted through its values: the exact road
`shared`    r(h) of a habit that all modes share and goals of each mode
`policies`  r(h, a), fitted through its policy: closed form
`planned`   any form, by soft-Q planning and its implicit gradient: the paper's road, and the oracle
`backoff`   the penalty that lets long histories borrow from short ones
`gauge`     which rewards the data cannot tell apart;  `dense`  tables and long lists
"""

from swirl.rewards.forms import Habit, Linear, Network, Tabular

__all__ = ["Habit", "Linear", "Network", "Tabular"]
