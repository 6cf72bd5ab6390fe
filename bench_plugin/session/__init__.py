"""The state of one run, which is put together here, once."""
