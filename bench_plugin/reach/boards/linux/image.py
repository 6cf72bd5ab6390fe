"""The image of the emulated Linux board: a kernel and one RAM file system, made once from Debian's packages."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.domain.paths import cache_root
from bench_plugin.reach.boards.linux import initramfs, kernel_modules
from bench_plugin.reach.boards.linux.initramfs import Entry
from bench_plugin.reach.environments.uv import run_uv

NAME = "qemu-aarch64-linux"
LAYOUT = 2  # of the image, as the code below makes it; a change makes another one
ARCHITECTURE = "arm64"  # as Debian calls it
PACKAGES = (
    "busybox-static", "dash", "dropbear-bin", "libpython3-stdlib", "libstdc++6", "linux-image-cloud-arm64",
    "python3-minimal", "zlib1g",
)  # fmt: skip
# The tools that make the image, by the Debian package that has them.
TOOLS = {"mmdebstrap": "mmdebstrap", "ssh-keygen": "openssh-client"}
SECONDS = 1800.0  # for Debian's packages from a slow mirror
MODULES = ("virtio_mmio", "virtio-rng", "virtio_net", "virtio_blk")  # and those that they need
APPLETS = (
    "cat", "chmod", "cp", "cut", "df", "dmesg", "echo", "find", "free", "grep", "head", "hostname", "id", "ifconfig",
    "init", "insmod", "kill", "ln", "ls", "mkdir", "mount", "mv", "nproc", "poweroff", "ps", "rm", "rmdir", "sed",
    "setsid", "sha256sum", "sleep", "stty", "sync", "tail", "tar", "test", "touch", "true", "uname", "wc",
)  # fmt: skip
# What a board for inference never opens: documentation, what configures a disk, and tests.
LEFT_OUT = re.compile(
    r"boot/|(usr/)?lib/(udev|systemd|modules|klibc|locale|linux-image[^/]*)/|usr/share/|var/|dev/|etc/initramfs"
    r"|usr/lib/python3[.\d]*/(config-|ensurepip|idlelib|lib2to3|pydoc_data|test|tkinter|turtledemo)"
    r"|(usr/)?lib/[^/]*/(libdb-|libkrb5|libsystemd|libapt|libgnutls|perl)"
)
GIVE = "give --mirror 'deb http://deb.debian.org/debian trixie main'"
READY, FAILED = "bench: the board is ready", "bench: the board has no network"  # what it says on its console
SETUP = f"""#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm; mount -t devpts pts /dev/pts; mount -t tmpfs shm /dev/shm
while read -r module; do insmod "$module"; done < /{kernel_modules.ORDER}
mkdir -p /root/.cache/bench_plugin
for disk in /dev/vd?; do
    [ -b $disk ] || continue
    place=/runtimes/${{disk##*/}}
    mkdir -p $place
    mount -t ext4 -o noatime $disk $place && ln -s $place/[0-9a-f]* /root/.cache/bench_plugin/
done
hostname {NAME}
ifconfig lo 127.0.0.1 up
ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up
cat /proc/sys/kernel/random/uuid | sed s/-//g > /etc/machine-id
dropbearconvert openssh dropbear /etc/ssh/host_key /run/host_key 2> /dev/null
dropbear -r /run/host_key -p 22 -s -W 4194304 -P /run/dropbear.pid
if [ -e /sys/class/net/eth0 ]; then echo "{READY}"; else echo "{FAILED}"; fi > /dev/console
"""
FILES = {
    "etc/group": "root:x:0:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
    "etc/inittab": "::sysinit:/sbin/setup\n",
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "etc/shadow": "root:*:19000::::::\n",
    "etc/shells": "/bin/sh\n",
}


@dataclass(frozen=True)
class Image:
    """A board's image: ``kernel`` and ``system`` are what the emulator starts, ``key`` opens it over ssh.

    ``known_hosts`` has the board's public key under the name of the image.
    """

    folder: Path

    @property
    def kernel(self) -> Path:
        """The kernel."""
        return self.folder / "vmlinuz"

    @property
    def system(self) -> Path:
        """The RAM file system, cpio without compression: to inflate it takes an emulated processor seconds."""
        return self.folder / "system.cpio"

    @property
    def key(self) -> Path:
        """The private key of the board's user root."""
        return self.folder / "key"

    @property
    def known_hosts(self) -> Path:
        """The public key of the board's host, as ssh's UserKnownHostsFile."""
        return self.folder / "known_hosts"

    @property
    def python(self) -> str:
        """The version of its Python, such as 3.11."""
        return self.folder.joinpath("python").read_text("utf-8").strip()

    @property
    def made(self) -> bool:
        """Whether it is there; it is moved into place as a whole."""
        return self.folder.exists()


def recipe() -> str:
    """What identifies the image: 16 hex digits over all that decides its content but Debian's updates."""
    said = json.dumps(
        [LAYOUT, ARCHITECTURE, PACKAGES, MODULES, APPLETS, LEFT_OUT.pattern, SETUP, FILES], sort_keys=True
    )
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def image(root: Path | None = None) -> Image:
    """The image of this version's recipe, whether it is made or not; ``root`` is the cache's folder."""
    return Image((root or cache_root()) / "boards" / f"{NAME}-{recipe()}")


def missing_tools() -> str:
    """Which program the making of the image lacks, and its package; "" if none is."""
    for tool, package in TOOLS.items():
        if shutil.which(tool) is None:
            return f"{tool} not found; Debian: package {package}"
    if os.geteuid() != 0 and shutil.which("newuidmap") is None:
        return "neither root nor newuidmap, which unprivileged users need; Debian: package uidmap"
    return ""


def make(progress: Callable[[str], None], *, mirror: str = "", root: Path | None = None) -> Image:
    """Make the image, unless it is there. ``mirror`` is a line of apt's sources; by default this machine's own ones.

    Raises EnvironmentMissing where a tool is missing or the packages cannot be had.
    """
    wanted = image(root)
    if wanted.made:
        return wanted
    if why := missing_tools():
        raise EnvironmentMissing(why)
    wanted.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wanted.folder.parent, prefix=".making-") as scratch:
        folder = Path(scratch, "image")
        folder.mkdir(mode=0o700)
        suite, sources = _sources(mirror)
        progress(f"unpacking Debian {suite} for {ARCHITECTURE}")
        packages = Path(scratch, "packages.tar")
        _unpack(packages, suite, sources)
        progress("making the file system")
        _make_keys(folder)
        _write(folder, packages, Path(scratch))
        try:
            os.rename(folder, wanted.folder)
        except OSError:  # another run was faster
            if not wanted.made:
                raise
    return wanted


def _sources(mirror: str) -> tuple[str, list[str]]:
    """The suite, and lines for apt: of the mirror, or Debian's among this machine's own sources."""
    if mirror:
        parts = re.sub(r"\[[^]]*\]", "", mirror).split()
        if len(parts) < 4 or parts[0] != "deb":
            raise EnvironmentMissing(f"{mirror!r} is not a line of apt's sources; {GIVE}")
        return parts[2], [mirror]
    if shutil.which("apt-get") is None:
        raise EnvironmentMissing(
            "this machine has no apt; give --mirror 'deb http://deb.debian.org/debian trixie main'"
        )
    layout = "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"
    asked = _output(["apt-get", "indextargets", "--format", layout, "Created-By: Packages"], 60)
    found = sorted({tuple(line.split("|")) for line in asked.splitlines() if line.startswith("Debian|")})
    lines = [f"deb {place} {release} {component}" for _, place, release, component in found]
    plain = [release for _, _, release, component in found if "-" not in release and component == "main"]
    if not plain:
        raise EnvironmentMissing(f"apt knows no packages of Debian; run apt-get update, or {GIVE}")
    return plain[0], lines


def _unpack(path: Path, suite: str, sources: list[str]) -> None:
    """The packages and those that they need, unpacked and not configured, as a tar."""
    command = [
        "mmdebstrap", "--quiet", "--variant=extract", f"--architectures={ARCHITECTURE}",
        f"--include={','.join(PACKAGES)}", "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*", "--format=tar", suite,
        str(path), *sources,
    ]  # fmt: skip
    _output(command, SECONDS)


def _make_keys(folder: Path) -> None:
    """A key for the user and one for the host, without passphrases: the board listens on this machine only."""
    for name in ("key", "host_key"):
        _output(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"bench {NAME}", "-f", str(folder / name)], 60)
    public = folder.joinpath("host_key.pub").read_text("utf-8")
    folder.joinpath("known_hosts").write_text(f"{NAME} {public}", "utf-8")


def _write(folder: Path, packages: Path, scratch: Path) -> None:
    """The kernel, and the file system from the unpacked packages and our own files."""
    kept: list[Entry] = []
    modules: list[Entry] = []
    for entry in initramfs.read_tar(packages):
        if entry.path.startswith("boot/vmlinuz-"):
            folder.joinpath("vmlinuz").write_bytes(entry.data)
        elif kernel_modules.is_module(entry.path):
            modules.append(entry)
        elif not LEFT_OUT.match(entry.path):
            kept.append(entry)
    if not folder.joinpath("vmlinuz").exists():
        raise EnvironmentMissing("the packages have no kernel: boot/vmlinuz-* is missing")
    kept += kernel_modules.with_needed(modules, MODULES)
    system: dict[str, Entry] = {}
    for entry in [*_own(folder, kept), *kept, *_compiled(kept, scratch)]:
        system.setdefault(entry.path, entry)
    with folder.joinpath("system.cpio").open("wb") as file:
        initramfs.write(file, system.values())
    folder.joinpath("host_key").unlink()
    folder.joinpath("python").write_text(_python(kept).removeprefix("usr/bin/python"), "utf-8")


def _python(kept: Iterable[Entry]) -> str:
    """The path of the packages' Python. Raises EnvironmentMissing where there is none."""
    found = next((entry.path for entry in kept if re.fullmatch(r"usr/bin/python3\.\d+", entry.path)), "")
    if not found:
        raise EnvironmentMissing("the packages have no Python: usr/bin/python3.* is missing")
    return found


def _own(folder: Path, kept: Sequence[Entry]) -> Iterator[Entry]:
    """The files of the board that no package has."""
    there = {entry.path for entry in kept}
    for name in ("proc", "sys", "dev", "run"):
        yield initramfs.folder(name)
    yield initramfs.folder("tmp", 0o1777)
    yield initramfs.folder("root", 0o700)
    if "bin" not in there and not any(path.startswith("bin/") for path in there):  # merged into /usr since Debian 13
        for name in ("bin", "sbin", "lib"):
            yield initramfs.link(name, f"usr/{name}")
    home = "usr/" if any(path.startswith("usr/bin/busybox") for path in there) else ""
    for name in APPLETS:
        if not {f"bin/{name}", f"usr/bin/{name}", f"sbin/{name}", f"usr/sbin/{name}"} & there:
            yield initramfs.link(f"{home}sbin/{name}", f"/{home}bin/busybox")
    yield initramfs.link("init", "/sbin/init")
    if f"{home}bin/sh" not in there:
        yield initramfs.link(f"{home}bin/sh", "dash")
    yield initramfs.link("usr/bin/python3", _python(kept).rpartition("/")[2])
    for path, content in FILES.items():
        yield initramfs.text(path, content)
    yield initramfs.text(f"{home}sbin/setup", SETUP, 0o755)
    yield initramfs.text("root/.ssh/authorized_keys", folder.joinpath("key.pub").read_text("utf-8"), 0o600)
    yield initramfs.text("etc/ssh/host_key", folder.joinpath("host_key").read_text("utf-8"), 0o600)


def _compiled(kept: Iterable[Entry], scratch: Path) -> Iterator[Entry]:
    """Python's standard library as byte code: to compile what an agent imports takes an emulated processor seconds."""
    sources = [entry for entry in kept if re.match(r"usr/lib/python3\.\d+/.*\.py$", entry.path)]
    versions = {entry.path.split("/")[2].removeprefix("python") for entry in sources}
    for version in versions:
        try:
            python = run_uv(["python", "find", version], folder=scratch).strip()
        except EnvironmentMissing:  # the board compiles them itself, more slowly
            continue
        library = scratch / "library"
        for entry in sources:
            path = library / entry.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(entry.data)
        options = ["-q", "--invalidation-mode", "unchecked-hash", "-s", str(library), "-p", "/"]
        subprocess.run([python, "-m", "compileall", *options, str(library)], capture_output=True, check=False)
        for path in sorted(library.rglob("*.pyc")):
            yield Entry(path.relative_to(library).as_posix(), stat.S_IFREG | 0o644, path.read_bytes())


def _output(command: list[str], seconds: float) -> str:
    """The standard output of a command. Raises EnvironmentMissing where it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=seconds, check=False, encoding="utf-8", errors="replace",
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise EnvironmentMissing(f"{command[0]} did not finish in {seconds:.0f} s") from error
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or [f"code {done.returncode}"]
        told = next((line for line in lines if line.startswith(("E:", "error"))), lines[-1])
        raise EnvironmentMissing(f"{command[0]} failed: {told}")
    return done.stdout
