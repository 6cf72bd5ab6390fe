"""How operands and results are shaped, operator family by operator family."""
