"""Agents that listen on a TCP port: the connection, who holds the board, and how a lost agent ended."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin.agent import wire
from bench_plugin.agent.channel import Channel, Closed
from bench_plugin.agent.link import handshake
from bench_plugin.agent.link.handshake import Refused, Transcript
from bench_plugin.agent.link.sockets import tune
from bench_plugin.agent.link.tokens import BadToken, read_token
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.leased_agent import START_SECONDS, AgentFailure, LinkLost, Source

CONNECT_SECONDS = 4.0  # a machine of the local network answers in milliseconds


@dataclass(frozen=True)
class Endpoint:
    """Where an agent listens. ``wait`` is how many seconds a board is waited for that another host has.

    ``tunnelled`` says that the connection goes through SSH, so that frames need no code of their own; the agent must
    have been started with ``--tunnelled``.
    """

    host: str
    port: int
    token_file: Path
    wait: float = 0.0
    tunnelled: bool = False

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class NetworkProcess:
    """The process of an agent behind a listener, which is asked how it ended."""

    shares_files = False

    def __init__(self, endpoint: Endpoint, connection: socket.socket, name: str) -> None:
        self._endpoint = endpoint
        self._connection = connection
        self._name = name

    @property
    def gone(self) -> bool:
        """Whether the connection has ended, or the agent says something that nobody asked for, such as farewell."""
        try:
            self._connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def resident(self) -> int:
        """Nothing is known while it is at work."""
        return 0

    def spent(self) -> float | None:
        """Nothing is known while it is at work."""
        return None

    def kill(self) -> int | None:
        """End the connection, upon which the listener ends the process."""
        try:
            self._connection.shutdown(socket.SHUT_RDWR)
        except OSError:  # it has ended
            return None
        return None

    def ended(self) -> int | None:
        """Its status as of waitpid(2), as the listener says. Raises LinkLost where that does not answer."""
        lost = f"the link to {self._endpoint} was lost"
        self.kill()
        try:
            said = _asked(self._endpoint, self._name)
        except AgentFailure as error:
            raise LinkLost(f"{lost}: {error}") from error
        status = said.get("status")
        if not isinstance(status, int):
            raise LinkLost(f"{lost}, and the agent is still at work there" if said.get("running") else lost)
        return status


def start(
    endpoint: Endpoint, log: Path, adapters: Callable[[str], Sequence[Source]], results: Path,
    start_seconds: float = START_SECONDS,
) -> Agent:  # fmt: skip
    """A greeted agent, started for this connection.

    Raises AgentFailure: ``board-lost`` where nothing answers, ``harness`` where what answers is not the right agent.
    """
    channel, transcript = _connected(endpoint, {})
    process = NetworkProcess(endpoint, channel.connection, transcript.host.hex())
    agent = Agent(channel, process, log, adapters, results)
    agent.greet(start_seconds, wait=endpoint.wait)
    expected = handshake.signature(transcript.hello_key(), agent.hello)
    if agent.hello.get("nonce") != transcript.host.hex() or agent.hello.get("signature") != expected:
        agent.close()
        raise AgentFailure("harness", f"the hello of the agent at {endpoint} is not signed for this connection")
    return agent


def _asked(endpoint: Endpoint, name: str) -> dict[str, Any]:
    """What became of a session. Raises AgentFailure."""
    channel, _ = _connected(endpoint, {"asks": name})
    try:
        return channel.receive(CONNECT_SECONDS, handshake.BYTES).meta
    except (wire.WireError, Closed, OSError) as error:
        raise AgentFailure("board-lost", str(error)) from error
    finally:
        channel.close()


def _connected(endpoint: Endpoint, about: dict[str, str]) -> tuple[Channel, Transcript]:
    """A connection over which both ends have proven the token. Raises AgentFailure."""
    try:
        token = read_token(str(endpoint.token_file))
    except BadToken as error:
        raise AgentFailure("harness", str(error)) from error
    frames = handshake.TUNNELLED if endpoint.tunnelled else handshake.AUTHENTICATED
    said = {"who": own_name(), "frames": frames, **about}
    try:
        connection = socket.create_connection((endpoint.host, endpoint.port), CONNECT_SECONDS)
    except OSError as error:
        text = f"nothing answers at {endpoint}: {error.strerror or error}"
        raise AgentFailure("board-lost", text) from error
    try:
        tune(connection)
        return handshake.prove(connection, token, said, CONNECT_SECONDS)
    except (Refused, wire.WireError) as error:
        connection.close()
        text = (
            f"what answers at {endpoint} is not the agent of {endpoint.token_file}: {error}; nothing was sent to it. "
            "The token file must be the same on both machines"
        )
        raise AgentFailure("harness", text) from error
    except (Closed, OSError) as error:
        connection.close()
        raise AgentFailure("board-lost", f"{endpoint} ended the connection before it had proven anything") from error


def own_name() -> str:
    """What this host calls itself to those that wait for the board."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()} (process {os.getpid()})"
