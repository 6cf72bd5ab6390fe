"""A pytest plugin that asks whether trained models survive the way to a device."""

__version__ = "0.1.0"
