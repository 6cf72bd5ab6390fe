"""What adapters share: samples, seeded weights, models from declarations, versions, and programs that they start."""
