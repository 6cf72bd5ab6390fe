"""The way from the pytest process to the agents: toolchains and processes."""
