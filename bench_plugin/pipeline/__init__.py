"""How stages are obtained: tasks, recipes, cache, agents, schedule, and the judgement of their numbers."""
