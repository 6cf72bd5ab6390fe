"""When do numbers agree: pure functions on arrays, without files, processes or pytest (docs/numbers.md)."""
