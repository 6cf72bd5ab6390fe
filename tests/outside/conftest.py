"""What lies in ``project`` is a user's: its tests run in a copy of it, and never as tests of ours."""

collect_ignore = ["project"]
