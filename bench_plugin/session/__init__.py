"""The state of one run; everything is put together here, once."""
