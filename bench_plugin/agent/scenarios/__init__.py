"""MLPerf's scenarios, driven by mlcommons-loadgen in the agent's own process (docs/scenarios.md)."""
