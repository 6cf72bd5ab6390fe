"""What a wheel carries along: ``suites``, ``fixtures`` and ``boards``; a checkout has them at its root instead.

``pytest --pyargs bench_plugin.data`` runs the suites in both (bench_plugin/plugin.py).
"""
