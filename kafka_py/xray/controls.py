"""What the buttons do: one function for each POST under `/xray/`.

Ours, no original. It stands between the pages, which know HTTP, and the gates, which do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from kafka_py.xray.event_log import Event, EventLog

Json = dict[str, Any]
MOST_KEPT = 10_000  # of the events that a trace shows


class Holds(Protocol):
    """The gates."""

    @property
    def factor(self) -> float:
        """1:factor is how fast it goes."""

    def hold(self, rules: Any) -> object:
        """Hold what the rules select."""

    def held(self) -> list[Json]:
        """Who is held where."""

    def step(self, thread: str | None = None, n: int = 1) -> object:
        """Let a thread pass n gates."""

    def resume(self) -> object:
        """Let all go."""

    def slow(self, factor: float) -> object:
        """Run at 1:factor."""

    def advance(self, ms: int) -> object:
        """Move the clock."""


class Records(Protocol):
    """Writes schedules down."""

    def record(self) -> object:
        """Begin."""

    def stop(self) -> Any:
        """The schedule; `to_json` gives its text."""


class Watched(Protocol):
    """The X-ray as the pages need it."""

    @property
    def events(self) -> EventLog:
        """What happened."""

    @property
    def limits(self) -> list[str]:
        """What cannot be seen or held."""

    def watch(self) -> object:
        """Somebody watches."""

    def unwatch(self) -> object:
        """They do not any more."""


class Controls:
    """Carries out what is posted.

    Thread: any; the parts have their own locks.
    """

    def __init__(self, xray: Watched, holder: Holds | None = None, recorder: Records | None = None) -> None:
        """Without ``holder`` (kafka.py.xray=on) the broker can be watched, not held."""
        self._xray = xray
        self._holder = holder
        self._recorder = recorder
        self.events = xray.events
        self.watch = xray.watch
        self.unwatch = xray.unwatch
        self.closed = False  # volatile: whoever stops the broker
        self._commands: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            "hold": self._hold,
            "step": self._step,
            "resume": lambda arguments: self._holds().resume(),
            "slow": lambda arguments: self._holds().slow(_number(arguments, "factor")),
            "advance": lambda arguments: self._holds().advance(int(_number(arguments, "ms"))),
            "schedule/record": lambda arguments: self._records().record(),
        }

    def close(self) -> None:
        """The broker stops: streams end, and whoever is held goes on."""
        self.closed = True
        if self._holder is not None:
            self._holder.resume()

    def held(self) -> list[Json]:
        """Who is held where; nobody where nobody can be."""
        return [] if self._holder is None else self._holder.held()

    def everything(self) -> list[Event]:
        """The last ten thousand events."""
        return self.events.after(max(0, self.events.last_id - MOST_KEPT), MOST_KEPT)

    def describe(self) -> Json:
        """What the view of the broker tells of the X-ray."""
        factor = 1.0 if self._holder is None else self._holder.factor
        return {
            "held": self.held(),
            "rate": 1 / factor,
            "limits": list(self._xray.limits),
            "lastEvent": self.events.last_id,
        }

    def carry_out(self, name: str, arguments: Mapping[str, Any]) -> Json:
        """Do it; the schedule for schedule/stop, else who is held then. KeyError for a name that is none."""
        if name == "schedule/stop":
            schedule: Json = {"steps": [list(step) for step in self._records().stop().steps]}
            return schedule
        command = self._commands.get(name)
        if command is None:
            raise KeyError("no such command")
        command(arguments)
        return {"held": self.held()}

    def _holds(self) -> Holds:
        if self._holder is None:
            raise RuntimeError("nothing can be held here: that needs kafka.py.xray=step")
        return self._holder

    def _records(self) -> Records:
        if self._recorder is None:
            raise RuntimeError("nothing can be recorded here: that needs kafka.py.xray=step")
        return self._recorder

    def _hold(self, arguments: Mapping[str, Any]) -> None:
        rules = arguments.get("rules", [{}])
        if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
            raise ValueError("rules is a list of objects")
        self._holds().hold(rules)

    def _step(self, arguments: Mapping[str, Any]) -> None:
        thread = arguments.get("thread")
        if thread is not None and not isinstance(thread, str):
            raise ValueError("thread is a name")
        self._holds().step(thread, int(_number(arguments, "n", 1)))


def _number(arguments: Mapping[str, Any], name: str, default: float | None = None) -> float:
    value = arguments.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 1e12:
        raise ValueError(f"{name} is a number")
    return value
