"""What one node computes: a rule for each operator, in files by kind of operator."""
