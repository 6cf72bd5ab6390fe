"""What the listener tells the process that it starts for an authenticated connection, through a pipe."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Dict, Mapping, Optional

from bench_plugin.agent.link.bounds import Bounds
from bench_plugin.agent.link.handshake import signature
from bench_plugin.agent.link.session import Session


@dataclasses.dataclass
class Admitted:
    """An authenticated connection: its session (None on a tunnelled link), bounds, nonce and key of the hello."""

    session: Optional[Session]
    bounds: Bounds
    nonce: bytes
    hello_key: bytes

    def signed(self, hello: Mapping[str, Any]) -> Dict[str, Any]:
        """The hello with the host's nonce, signed."""
        said = {**hello, "nonce": self.nonce.hex()}
        return {**said, "signature": signature(self.hello_key, said)}

    def write(self, descriptor: int) -> None:
        """Write it into a pipe, and close that."""
        text = json.dumps(
            {
                "session": self.session.exported().decode() if self.session else "", "nonce": self.nonce.hex(),
                "bounds": dataclasses.asdict(self.bounds), "hello_key": self.hello_key.hex(),
            }
        )  # fmt: skip
        with os.fdopen(descriptor, "w") as pipe:
            pipe.write(text)

    @classmethod
    def read(cls, descriptor: int) -> "Admitted":
        """Read it from a pipe, and close that."""
        with os.fdopen(descriptor) as pipe:
            said = json.load(pipe)
        return cls(
            Session.imported(said["session"].encode()) if said["session"] else None,
            Bounds(**said["bounds"]),
            bytes.fromhex(said["nonce"]),
            bytes.fromhex(said["hello_key"]),
        )
