"""What happened inside the broker, in order: a ring of numbered events for any number of watchers.

Ours, no original. Who writes never waits for who reads: a writer only appends a tuple to a queue. Numbers, JSON and
forgetting are the readers' work, who take what was written in blocks: a block is written as JSON once, whoever reads
it. The ring forgets its oldest events, and a watcher that was too slow is told how many it has missed.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from kafka_py.common.utils.time import Time
from kafka_py.utils.concurrent import ConcurrentHashMap, ReentrantLock, untapped
from kafka_py.xray.passage import Passage

if TYPE_CHECKING:
    from kafka_py.utils.concurrent import Condition

CAPACITY = 20_000
MOST_UNREAD = 2_000  # events; so many wait at most for a reader before a writer puts them into the ring
SAMPLE_INTERVAL_NS = 50_000_000
Event: TypeAlias = dict[str, Any]
# when, the kind, and what is known besides: a mapping, or a passage with its thread, method, request and fields
_Note: TypeAlias = tuple[int, str, Mapping[str, Any] | Passage]
BLOCK_EVENTS = 200  # at most; written as JSON without letting other threads run, which takes 0.3 ms
MOST_HEADS = 10_000
_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode
_quoted = json.encoder.encode_basestring_ascii
# (kind, thread, method) -> the JSON of them
_heads: ConcurrentHashMap[tuple[str, str, str], str] = ConcurrentHashMap()


class Batch(NamedTuple):
    """Events as they are sent: the id of the last, and the JSON array."""

    last_id: int
    text: str


class Block:
    """Events that a reader has found together, with the numbers it gave them; notes first, then JSON.

    Thread: any reads; two that write its JSON at once write the same.
    """

    __slots__ = ("_began", "_notes", "_text", "first_id", "last_id")

    def __init__(self, first_id: int, notes: Sequence[_Note], began: int) -> None:
        self.first_id = first_id
        self.last_id = first_id + len(notes) - 1
        self._began = began
        self._notes = notes  # volatile: whoever has written the JSON lets them go
        self._text = ""  # volatile: whoever writes it first

    @property
    def text(self) -> str:
        """The events as JSON, without the brackets of an array."""
        if not self._text:
            self._text = self._written(self._notes)
            self._notes = ()
        return self._text

    def events(self) -> list[Event]:
        """The events, made anew at each call."""
        notes = self._notes
        if notes:
            return self._made(notes)
        found: list[Event] = json.loads(f"[{self._text}]")
        return found

    def _written(self, notes: Sequence[_Note]) -> str:
        began = self._began
        return ",".join([
            f'{{"id":{id},"us":{(at - began) // 1000}{_json_of(kind, what)}}}'
            for id, (at, kind, what) in enumerate(notes, self.first_id)
        ])  # fmt: skip

    def _made(self, notes: Sequence[_Note]) -> list[Event]:
        began = self._began
        made = []
        for id, (at, kind, what) in enumerate(notes, self.first_id):
            event = _told(what)
            event["id"] = id
            event["us"] = (at - began) // 1000
            event["kind"] = kind
            made.append(event)
        return made


def _told(what: Mapping[str, Any] | Passage) -> Event:
    """The fields of an event about a passage; a request is told by its number, if not in the passage's own fields."""
    if not isinstance(what, Passage):
        return dict(what)
    told: Event = {"thread": what.thread, "method": what.method}
    request = what.request
    if request is not None:
        told["request"] = {"id": request.id}
    told.update(what.fields)
    return told


def _json_of(kind: str, what: Mapping[str, Any] | Passage) -> str:
    """The JSON of an event from its third member on; the same as that of _told, in a quarter of the time."""
    if not isinstance(what, Passage):
        return f',"kind":{_quoted(kind)}{_members(what)}'
    key = kind, what.thread, what.method
    head = _heads.get(key)
    if head is None:
        if len(_heads) >= MOST_HEADS:
            _heads.clear()
        head = f',"kind":{_quoted(kind)},"thread":{_quoted(key[1])},"method":{_quoted(key[2])}'
        _heads[key] = head
    request, fields = what.request, what.fields
    if request is None or "request" in fields:
        return head + _members(fields)
    return f'{head},"request":{{"id":{request.id}}}{_members(fields)}'


def _members(fields: Mapping[str, Any]) -> str:
    """A comma, name and value of each; names are the X-ray's own and need no escapes."""
    return "".join([f',"{name}":{_value(value)}' for name, value in fields.items()])


def _value(value: Any) -> str:
    kind = type(value)
    if kind is int:
        return str(value)
    if kind is str:
        return _quoted(value)
    if kind is list:
        return f"[{','.join([_value(each) for each in value])}]"
    return _encode(value)


class EventLog:
    """A bounded ring of events with ids 1, 2, 3 …

    An event is a dict that JSON can write: ``id``, ``us`` (microseconds since the log began), ``thread``, ``kind``, and
    what else is known of it.

    Thread: any emits; HTTP threads read.
    Locks:  _lock, for readers; a writer takes it only to wake a reader, or where nobody has read for long.
    """

    def __init__(self, capacity: int = CAPACITY, time: Time = Time.SYSTEM) -> None:
        """``time`` stamps the events: the machine's clock, which runs on while threads are held."""
        self.capacity = capacity
        self._most_unread = min(MOST_UNREAD, capacity)
        self._time = time
        self._nanoseconds = time.nanoseconds
        self._began = time.nanoseconds()
        self._lock = ReentrantLock()
        self._changed: Condition = self._lock.new_condition()
        self._unread: deque[_Note] = deque()  # atomic: append, popleft
        self._ring: deque[Block] = deque()  # guarded by: _lock
        self._last_id = 0  # guarded by: _lock
        self._waiting = 0  # volatile: writer under _lock
        self._missed = 0  # guarded by: _lock
        self._samplers: tuple[Callable[[], None], ...] = ()  # volatile: whoever adds one
        self._sampled_at = 0  # volatile: HTTP threads; a sample too many does no harm

    @property
    def began_micros(self) -> float:
        """When the log began: microseconds of the machine's clock."""
        return self._began / 1000

    @property
    def last_id(self) -> int:
        """The id of the newest event, 0 before there is one."""
        with self._lock:
            self._collect()
            return self._last_id

    @property
    def missed(self) -> int:
        """How many events watchers have missed because they came too late for them."""
        with self._lock:
            return self._missed

    def emit(self, kind: str, **fields: Any) -> None:
        """Note an event of the calling thread, now."""
        fields.setdefault("thread", threading.current_thread().name)
        self.put(kind, fields)

    def put(self, kind: str, what: Mapping[str, Any] | Passage) -> None:
        """Note a passage, or an event whose fields are in a mapping that names its thread; neither changes later."""
        unread = self._unread
        unread.append((self._nanoseconds(), kind, what))
        if self._waiting or len(unread) >= self._most_unread:
            self._wake()

    def _wake(self) -> None:
        with self._lock:
            if self._waiting:
                self._changed.signal_all()
            if len(self._unread) >= self._most_unread:
                self._collect()

    def _collect(self) -> None:
        """Number what was written, and forget what is too old. Caller holds _lock."""
        unread = self._unread
        left = len(unread)
        while left:
            count = min(left, BLOCK_EVENTS)
            block = Block(self._last_id + 1, [unread.popleft() for _ in range(count)], self._began)
            self._ring.append(block)
            self._last_id = block.last_id
            left -= count
        forgotten = self._last_id - self.capacity
        while self._ring and self._ring[0].last_id <= forgotten:
            self._ring.popleft()

    def add_sampler(self, sampler: Callable[[], None]) -> None:
        """Call this, which may emit, before events are read: at most every 50 ms, and never while nobody reads."""
        self._samplers = (*self._samplers, sampler)

    def after(self, id: int, limit: int = 10_000, timeout_ms: float = 0) -> list[Event]:
        """The events behind that id, oldest first, at most ``limit``; waits up to timeout_ms for the first of them.

        Where events have been forgotten, one ``dropped`` event tells how many. A watcher that is so slow that the
        ring has overtaken it goes on from the newest.
        """
        blocks, dropped = self._behind(id, limit, timeout_ms)
        events = [event for block in blocks for event in block.events()]
        if dropped:
            return _from_the_newest(events[-1], dropped)
        return [event for event in events if event["id"] > id][:limit]

    def batch(self, id: int, limit: int, timeout_ms: float) -> Batch | None:
        """The events that `after` tells of, as JSON; None if there are none.

        They are whole blocks where the watcher has read whole blocks, so ``limit`` may be passed by one of them.
        """
        blocks, dropped = self._behind(id, limit, timeout_ms)
        if not blocks:
            return None
        first, last_id = blocks[0], blocks[-1].last_id
        if dropped:
            return Batch(last_id, _encode(_from_the_newest(blocks[-1].events()[-1], dropped)))
        whole = id < first.first_id
        texts = [] if whole else [_encode(first.events()[id + 1 - first.first_id :])[1:-1]]
        for block in blocks if whole else blocks[1:]:
            texts.append(block.text)
            self._time.sleep(0)  # the broker's threads first
        return Batch(last_id, f"[{','.join(texts)}]")

    def _behind(self, id: int, limit: int, timeout_ms: float) -> tuple[list[Block], int]:
        """The blocks in which the next ``limit`` events are; or the last, and how many events were forgotten."""
        self._sample()
        with untapped(), self._lock:
            self._collect()
            if id >= self._last_id and timeout_ms > 0:
                self._await_event(timeout_ms)
            if id >= self._last_id:
                return [], 0
            dropped = self._last_id - 1 - id
            if dropped >= self.capacity:
                self._missed += dropped
                return [self._ring[-1]], dropped
            found: list[Block] = []
            for block in self._ring:
                if block.first_id > id + limit:
                    break
                if block.last_id > id:
                    found.append(block)
            return found, 0

    def _await_event(self, timeout_ms: float) -> None:
        """Caller holds _lock."""
        self._waiting += 1
        try:
            if not self._unread:
                self._changed.await_(timeout_ms)
        finally:
            self._waiting -= 1
        self._collect()

    def _sample(self) -> None:
        now = self._nanoseconds()
        if now - self._sampled_at < SAMPLE_INTERVAL_NS:
            return
        self._sampled_at = now
        for sampler in self._samplers:
            sampler()

    def __repr__(self) -> str:
        return f"EventLog(last={self.last_id}, capacity={self.capacity})"


def _from_the_newest(newest: Event, dropped: int) -> list[Event]:
    """What a watcher gets that the ring has overtaken."""
    return [{"id": newest["id"] - 1, "us": newest["us"], "kind": "dropped", "thread": "", "dropped": dropped}, newest]
