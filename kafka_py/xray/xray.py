"""The X-ray of one broker: what KafkaServer starts and stops, and what its pages show.

Ours, no original. `kafka.py.xray=off` makes none of it; `on` lets the broker be watched; `step` gives it a clock that
can stand, and lets its threads be held.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_py.common.errors import ConfigException
from kafka_py.common.utils.time import Time
from kafka_py.network import processor, request_channel
from kafka_py.network.request_channel import Request
from kafka_py.utils.concurrent import ReentrantLock, install_tap, remove_tap
from kafka_py.utils.logging import Logging
from kafka_py.xray import taps
from kafka_py.xray.event_log import EventLog
from kafka_py.xray.gates import Holder
from kafka_py.xray.held_time import HeldTime
from kafka_py.xray.request_journal import RequestJournal
from kafka_py.xray.schedule import Recorder, Replay, Schedule
from kafka_py.xray.watching import WAITS, EventWriter, SentByController, ThreadStates

if TYPE_CHECKING:
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.kafka_request_handler import ApiRequestHandler


class Xray(Logging):
    """Journal, events, holder and schedules of a broker.

    Thread: made and closed by the server's; HTTP threads watch and hold.
    Locks:  _lock, for the number of watchers.
    """

    def __init__(self, config: KafkaConfig, time: Time = Time.SYSTEM) -> None:
        """``time`` is the machine's clock; the broker's is `time` of this, which can stand if xray is step."""
        self.config = config
        self.mode = config.xray
        self.log_ident = f"[Xray broker={config.broker_id}] "
        self.clock = HeldTime(time) if self.mode == "step" else None
        self.time: Time = time if self.clock is None else self.clock
        self.events = EventLog()
        self.journal = RequestJournal()
        self.schedule = Recorder()
        self.holder: Holder | None = None
        if self.clock is not None:
            self.holder = Holder(self.clock, self.events, listen=self._listen)
        self.thread_states = ThreadStates(self.events)
        self.sent_by_controller = SentByController()
        self._writer = EventWriter(self.events)
        self._replay: Replay | None = None  # thread: server
        self._lock = ReentrantLock()
        self._watchers = 0  # guarded by: _lock
        self._listening = False  # guarded by: _lock
        self.events.add_sampler(self.thread_states.sample)

    @property
    def limits(self) -> list[str]:
        """What cannot be seen or held here, as sentences for people."""
        found = taps.limits()
        if self.holder is None:
            found.append("kafka.py.xray=on: this broker can be watched, not held; kafka.py.xray=step allows both.")
        return found

    @property
    def watchers(self) -> int:
        """How many watch now."""
        with self._lock:
            return self._watchers

    def observe(self, apis: ApiRequestHandler) -> ApiRequestHandler:
        """The same handler, with the X-ray before it."""
        return self.journal.observe(apis)

    def start(self) -> None:
        """From now on requests are noted, and the broker may be watched. Raises ConfigException for a bad schedule."""
        self.journal.start()
        if self.clock is not None:
            # these two read the clock through a function of their own, as they do so most often
            request_channel.use_clock(self.clock.nanoseconds)
            processor.use_clock(self.clock.nanoseconds)
        for limit in taps.limits():
            self.warn("%s", limit)
        if self.config.xray_schedule:
            self._replay = Replay(_schedule_of(self.config.xray_schedule, self.config.XRAY_SCHEDULE_PROP))
            self._replay.start()

    def close(self) -> None:
        """Let all threads go and take every tap out; called before the broker begins to stop."""
        if self.holder is not None:
            self.holder.close()
        self.schedule.stop()
        if self._replay is not None:
            self._replay.close()
            self._replay = None
        with self._lock:
            if self._watchers:
                self._watchers = 0
                self._take_out()
        if Request.completed_tap == self.journal.completed:
            self.journal.stop()
        if self.clock is not None:
            request_channel.use_clock(Time.SYSTEM.nanoseconds)
            processor.use_clock(Time.SYSTEM.nanoseconds)

    # -- watching

    @contextmanager
    def watching(self) -> Iterator[EventLog]:
        """The event log, which is written while at least one such block is open."""
        self.watch()
        try:
            yield self.events
        finally:
            self.unwatch()

    def watch(self) -> None:
        """One watcher more; the first has the taps put in."""
        with self._lock:
            self._watchers += 1
            if self._watchers == 1:
                taps.install(self._writer)
                taps.install(self.sent_by_controller)
                install_tap(self.thread_states, WAITS)

    def unwatch(self) -> None:
        """One watcher less; with the last the taps go."""
        with self._lock:
            if self._watchers == 0:
                return  # the broker has stopped meanwhile
            self._watchers -= 1
            if self._watchers == 0:
                self._take_out()

    def _take_out(self) -> None:
        taps.remove(self._writer)
        taps.remove(self.sent_by_controller)
        remove_tap(self.thread_states)

    def _listen(self, wanted: bool) -> None:
        """The holder needs to be asked, or no longer."""
        with self._lock:
            if wanted == self._listening or self.holder is None:
                return
            self._listening = wanted
            if wanted:
                taps.install(self.holder, first=True)
            else:
                taps.remove(self.holder)

    def __repr__(self) -> str:
        return f"Xray({self.mode}, watchers={self.watchers}, recording={self.schedule.is_recording}, {self.events!r})"


def _schedule_of(path: str, option: str) -> Schedule:
    try:
        return Schedule.from_json(Path(path).read_bytes())
    except (OSError, ValueError) as e:
        raise ConfigException(option, path, f"no schedule can be read there: {e}") from e
