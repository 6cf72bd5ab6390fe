"""Root of the checkout. Options, fixtures and hooks are the plugin's (bench_plugin/plugin.py)."""
