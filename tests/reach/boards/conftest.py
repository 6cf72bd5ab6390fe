"""Fixtures of the tests of boards."""

from __future__ import annotations

from tests.reach.boards.sshd import sshd

__all__ = ["sshd"]
