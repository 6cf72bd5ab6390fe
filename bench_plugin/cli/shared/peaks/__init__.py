"""``bench board peaks``: microkernels on this machine and on boards, and the file of what they reached."""
