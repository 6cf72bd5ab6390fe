"""Work ahead on operator cases: a few threads, each with one compiler at a time, in the order of the cases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence


class Ahead:
    """``run(compiler, case)`` is called for every case, ``ended(compiler)`` after a compiler's last one."""

    def __init__(
        self,
        cases: Mapping[str, Sequence[str]],
        run: Callable[[str, str], None],
        ended: Callable[[str], None],
        *,
        jobs: int,
    ) -> None:
        self._waiting = dict(cases)
        self._run = run
        self._ended = ended
        self._left = {compiler: set(names) for compiler, names in cases.items()}
        self._changed = threading.Condition()
        self._stopped = False
        self._error: BaseException | None = None
        self._threads = [
            threading.Thread(target=self._work, name=f"bench-operators-{index}", daemon=True)
            for index in range(min(jobs, len(cases)))
        ]
        for thread in self._threads:
            thread.start()

    def wait(self, compiler: str, case: str) -> None:
        """Until the case was run. Raises what a thread died of."""
        with self._changed:
            while case in self._left.get(compiler, ()) and self._error is None and not self._stopped:
                self._changed.wait()
            if self._error is not None:
                raise self._error

    def stop(self) -> None:
        """Begin no further case."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def join(self, seconds: float) -> None:
        """Wait for the threads to end, at most ``seconds`` each."""
        for thread in self._threads:
            thread.join(seconds)

    def _work(self) -> None:
        try:
            while (taken := self._take()) is not None:
                compiler, cases = taken
                for case in cases:
                    if self._stopped:
                        return
                    self._run(compiler, case)
                    with self._changed:
                        self._left[compiler].discard(case)
                        self._changed.notify_all()
                self._ended(compiler)
        except BaseException as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _take(self) -> tuple[str, Sequence[str]] | None:
        with self._changed:
            compiler = next(iter(self._waiting), None)
            return None if compiler is None else (compiler, self._waiting.pop(compiler))
