"""The domain: cells, stages, verdicts, results. Imports no pytest."""
