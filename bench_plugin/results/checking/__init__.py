"""Rows from outside: their schema, reading them within bounds, and what is wrong with them."""
