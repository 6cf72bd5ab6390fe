"""``bench completion bash | zsh | fish``: a script that lets the shell complete commands, options and names."""

from __future__ import annotations

import argparse

HELP = "print a script that completes commands, options and names in the shell"
SHELLS = {
    "bash": "add to ~/.bashrc: eval \"$(bench completion bash)\"",
    "zsh": "add to ~/.zshrc, after compinit: eval \"$(bench completion zsh)\"",
    "fish": "bench completion fish > ~/.config/fish/completions/bench.fish",
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = "\n".join([HELP, "", *SHELLS.values()])
    parser.add_argument("shell", choices=tuple(SHELLS), help="the shell that will read the script")


def run(args: argparse.Namespace) -> int:
    """Print the script; always 0. It asks ``bench`` itself each time, so it never needs to be made again."""
    from argcomplete.shell_integration import shellcode

    print(shellcode(["bench"], shell=args.shell))
    return 0
