"""The guardian: the parent process of all agents, which cleans up after pytest has ended.

For every agent it forks a keeper, a small process between the guardian and the agent::

    pytest ── guardian ─┬─ keeper ── agent ── the programs that adapters run, and their children
                        └─ keeper ── agent

Every keeper is a child subreaper (prctl(2)): whatever an agent starts stays below its keeper, also what is orphaned,
has a session of its own or an empty environment. So the tree below the keeper is the agent's memory, and all of it
ends when the agent ends or is killed. The guardian is a subreaper too, and takes what is left if a keeper is killed.

How each of them can end:

- pytest, in any way: its socket is at end-of-file, or (where a process that pytest forked still holds the socket) its
  pidfd is readable. The guardian ends all keepers and what is below them, removes the scratch folder, and ends.
- the guardian, by SIGKILL: keepers get SIGTERM as the death signal of their parent, and end what is below them.
- a keeper, by SIGKILL: its agent gets SIGKILL as the death signal of its parent, the guardian kills the rest.

Death signals are sent when the *thread* that made the child ends; guardian and keepers have one thread each.

Requests are JSON objects, one per packet (SOCK_SEQPACKET): ``{"do": "spawn", "id"}`` with three descriptors (the
agent's channel, its log, a file with the JSON object ``{"argv", "env", "cwd"}``, in which one character stands for one
byte, and which may be larger than a packet),
and ``{"do": "kill", "id"}``. Answers: ``{"id", "pid"}`` (the keeper's) or ``{"id", "error"}`` after a spawn, and
``{"id", "status"}`` (as of waitpid) when the agent has ended with everything below it; a second one means nothing.

Run as a script: it imports the standard library only.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PACKET = 1 << 16
DESCRIPTORS = 3
PAUSE = 0.001
GROUP = "bench"  # the names of control groups begin with it
POLL_SECONDS = 1.0
OOM_SCORE = "500"  # thousandths of the memory, added to those that an agent has: proc_pid_oom_score_adj(5)
END_SECONDS = 10.0  # after this time the guardian no longer waits for keepers, and kills them too


class Guardian:
    """Serves one pytest, the process ``host``."""

    def __init__(self, connection: socket.socket, scratch: str, host: int) -> None:
        self._connection = connection
        self._scratch = scratch
        self._host = host
        self._keepers: dict[int, tuple[str, Cgroup]] = {}
        self._wake, self._woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._count = 0

    def run(self) -> None:
        """Serve requests until pytest is gone, then kill all agents and remove the scratch folder."""
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        for number in {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, *_ignored()}:
            # A terminal's Ctrl-C is pytest's to handle. A handler ends at exec; SIG_IGN would be the agents' for life,
            # also where it was inherited: nohup ignores SIGHUP, a shell's background jobs SIGINT and SIGQUIT.
            signal.signal(number, lambda number, frame: None)
        # Keepers wait for SIGTERM with sigwait. It is blocked here, because they may get it as soon as they exist.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        remove_left_groups()
        watched = _watched(self._host)
        sources = [self._connection.fileno(), self._wake, *watched]
        while os.getppid() == self._host:
            readable, _, _ = select.select(sources, [], [], None if watched else POLL_SECONDS)
            if self._wake in readable:
                self._reap()
            if self._connection.fileno() in readable and not self._request():
                break
        self._end()

    def _request(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._connection, PACKET, DESCRIPTORS)
        if not data:
            return False
        request = json.loads(data)
        if request["do"] == "spawn":
            self._spawn(request["id"], descriptors)
        elif request["do"] == "kill":
            for pid, (own, _) in self._keepers.items():
                if own == request["id"]:
                    os.kill(pid, signal.SIGTERM)  # not reaped yet, so the number is still its own
        return True

    def _spawn(self, agent: str, descriptors: list[int]) -> None:
        own = os.getpid()
        self._count += 1
        group = Cgroup(f"{GROUP}-{own}-{self._count}")
        try:
            pid = os.fork()
        except OSError as error:
            group.remove()
            self._tell({"id": agent, "error": f"no process can be made: {error}"})
        else:
            if pid == 0:
                try:
                    Keeper(agent, self._tell, group).run(own, *descriptors)
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(0)  # never back into the guardian's loop
            self._keepers[pid] = (agent, group)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._wake, 4096)
        for pid, status in reaped():
            if pid in self._keepers:
                agent, group = self._keepers.pop(pid)
                group.kill()
                group.remove()
                self._tell({"id": agent, "status": status})  # counts only if the keeper could not say it
        for stray in children(os.getpid()):  # of a keeper that was killed; the end of each wakes the guardian again
            if stray not in self._keepers:
                kill_all([stray, *descendants(stray)])

    def _end(self) -> None:
        kill_all(self._keepers, signal.SIGTERM)
        deadline = time.monotonic() + END_SECONDS
        while self._keepers and time.monotonic() < deadline:
            select.select([self._wake], [], [], 0.1)
            self._reap()
        end_descendants()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _tell(self, answer: dict[str, object]) -> None:
        with suppress(OSError):  # pytest is gone: the guardian finds that out next
            self._connection.send(json.dumps(answer).encode())


class Keeper:
    """Starts one agent, reaps what is orphaned below it, and ends with the agent: then nothing of it is left."""

    def __init__(self, agent: str, tell: Callable[[dict[str, object]], None], group: Cgroup) -> None:
        self._id = agent
        self._tell = tell
        self._group = group

    def run(self, guardian: int, channel: int, log: int, request: int) -> None:
        """Until the agent ends, or SIGTERM asks for its end."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM})
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != guardian:
            return
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        try:
            agent = self._start(channel, log, request)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._tell({"id": self._id, "error": str(error)})
            return
        finally:
            for descriptor in (channel, log, request):  # the host must see the end of the channel with the agent
                os.close(descriptor)
        self._tell({"id": self._id, "pid": os.getpid()})
        status = self._wait(agent)
        self._group.kill()
        statuses = end_descendants()
        self._group.remove()
        if status is None and os.getppid() == guardian:
            status = statuses.get(agent)
        if status is not None:  # else the guardian is gone, which says nothing about the agent
            self._tell({"id": self._id, "status": status})

    def _start(self, channel: int, log: int, request: int) -> int:
        with open(request, "rb", closefd=False) as file:
            asked = json.load(file)
        argv = [octets(part.replace("{fd}", str(channel))) for part in asked["argv"]]
        environment = {octets(name): octets(value) for name, value in asked["env"].items()}
        keeper = os.getpid()

        def begin() -> None:  # in the child, before exec: this process has one thread, so that is safe
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != keeper:
                os._exit(1)
            self._group.join()
            _chosen_first()
            signal.pthread_sigmask(signal.SIG_SETMASK, ())

        try:
            process = subprocess.Popen(
                argv, env=environment, cwd=octets(asked["cwd"]), close_fds=True, pass_fds=[channel],
                start_new_session=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=begin,  # noqa: PLW1509
            )  # fmt: skip
        except OSError as error:
            raise OSError(f"{os.fsdecode(argv[0])}: {error.strerror}") from error
        process.returncode = 0  # reaped below, with every other child
        return process.pid

    def _wait(self, agent: int) -> int | None:
        """The status of the agent once it has ended; None when the keeper is asked to end it."""
        while signal.sigwait({signal.SIGCHLD, signal.SIGTERM}) == signal.SIGCHLD:
            status = dict(reaped()).get(agent)
            if status is not None:
                return status
        return None


class Cgroup:
    """A control group of one agent (cgroups(7), version 2), where the kernel and the rights allow one.

    To kill it is atomic: a process cannot escape by forking meanwhile. Without one, :func:`end_descendants` does it.
    """

    def __init__(self, name: str) -> None:
        self._folder = ""
        base = own_cgroup()
        if base:
            with suppress(OSError):
                os.mkdir(f"{base}/{name}")
                self._folder = f"{base}/{name}"

    def join(self) -> None:
        """Move this process into the group."""
        self._write("cgroup.procs", "0")

    def kill(self) -> None:
        """Kill every process of the group (Linux 5.14)."""
        self._write("cgroup.kill", "1")

    def remove(self) -> None:
        """Remove the empty group."""
        if self._folder:
            with suppress(OSError):
                os.rmdir(self._folder)

    def _write(self, name: str, text: str) -> None:
        if self._folder:
            with suppress(OSError), open(f"{self._folder}/{name}", "r+") as file:
                file.write(text)


def remove_left_groups() -> None:
    """Remove the groups of guardians that were killed together with their keepers; they are empty."""
    base = own_cgroup()
    names: list[str] = []
    with suppress(OSError):
        names = [name for name in os.listdir(base) if name.startswith(f"{GROUP}-")] if base else []
    for name in names:
        if not os.path.exists(f"/proc/{name.split('-')[1]}"):
            with suppress(OSError):
                os.rmdir(f"{base}/{name}")


def own_cgroup() -> str:
    """The folder of this process's group in the hierarchy of version 2; empty where none is mounted."""
    try:
        with open("/proc/self/cgroup") as file:
            path = next((line[3:].rstrip("\n") for line in file if line.startswith("0::/")), "")
        with open("/proc/self/mountinfo") as file:
            mounts = [line.split() for line in file if " - cgroup2 " in line]
    except OSError:
        return ""
    for _, _, _, root, mount, *_ in mounts:
        if path and (path + "/").startswith(root.rstrip("/") + "/"):
            return (mount + path[len(root.rstrip("/")) :]).rstrip("/")
    return ""


def _chosen_first() -> None:
    """Let the kernel choose this process before the one of the run where memory runs out: it costs one cell then."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(OOM_SCORE)


def end_descendants() -> dict[int, int]:
    """Kill and reap every process below this one, which must be a subreaper; returns statuses by number.

    It ends when the kernel says that no child is left, so that nothing escapes that forks and exits meanwhile: what is
    orphaned becomes a child of this process, and to read its children takes less time than to fork. It waits for
    processes that end late, because the kernel or a device has them.
    """
    statuses: dict[int, int] = {}
    while True:
        found = list(descendants(os.getpid()))
        kill_all(found)
        try:
            pid, status = os.waitpid(-1, 0 if found else os.WNOHANG)  # one of those that were found ends in any case
        except ChildProcessError:
            return statuses
        if pid:
            statuses.update({pid: status, **dict(reaped())})
        elif not found:
            time.sleep(PAUSE)


def reaped() -> Iterator[tuple[int, int]]:
    """Reap every child that has ended: its number and its status."""
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            yield pid, status


def descendants(pid: int) -> Iterator[int]:
    """Every process below ``pid``, zombies included."""
    pending = children(pid)
    while pending:
        child = pending.pop()
        yield child
        pending.extend(children(child))


def children(pid: int) -> list[int]:
    """The children of a process, zombies included (proc(5)); none of a process that is gone."""
    found: list[int] = []
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        return _children_by_parent(pid)
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found.extend(int(child) for child in file.read().split())
    return found


def _children_by_parent(pid: int) -> list[int]:
    """The same for kernels without CONFIG_PROC_CHILDREN: by the parent of every process of the machine."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            if int(file.read().rpartition(b")")[2].split()[1]) == pid:
                found.append(int(name))
    return found


def kill_all(pids: Iterable[int], number: int = signal.SIGKILL) -> None:
    """Send a signal to processes, some of which may be gone or another user's."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def prctl(option: int, value: int) -> None:
    """An option of this process (prctl(2))."""
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def octets(text: str) -> bytes:
    """The bytes of a text of a request."""
    return text.encode("latin-1")


def _ignored() -> list[int]:
    """The signals that this process ignores: SIGPIPE by Python, and those that its parent had ignored."""
    return [number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN]


def _watched(pid: int) -> list[int]:
    """A descriptor that is readable once the process has ended; none before Linux 5.3, or where Python lacks it."""
    try:
        return [os.pidfd_open(pid)]
    except (OSError, AttributeError):
        return []


def main() -> None:
    """``guardian.py FD SCRATCH HOST``."""
    Guardian(socket.socket(fileno=int(sys.argv[1])), sys.argv[2], int(sys.argv[3])).run()


if __name__ == "__main__":
    main()
