"""What a wheel carries along: ``suites``, ``fixtures`` and ``boards``; a checkout has them at its root instead."""
