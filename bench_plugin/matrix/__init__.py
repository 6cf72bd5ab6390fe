"""From a selection to cells: the planner protocol and the matrix that asks every planner."""
