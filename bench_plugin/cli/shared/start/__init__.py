"""What ``bench init`` writes: an example model, an example test, a configuration, workflows."""
