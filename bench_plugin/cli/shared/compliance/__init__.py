"""What ``bench complies``, ``bench attributes`` and ``bench corpus evidence`` share."""
