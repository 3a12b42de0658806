"""The thread that brings transactions to disk, many with one fsync, while the server's thread goes on reading.

As in ZooKeeper, whose SyncRequestProcessor this is named after: an fsync can take seconds, and who waits for it cannot
hear that the clients are alive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.embedded.data_tree import DataTree
from kafka_py.embedded.txn_log import Batch, Snapshot, TxnLog
from kafka_py.utils.concurrent import LinkedBlockingQueue
from kafka_py.utils.logging import Logging

_IDLE_MS = 60_000
_PATIENCE_MS = 10  # a quick disk is waited for: reading on would cost a turn for each request that trickles in
_MAX_BACKLOG = 1 << 24  # bytes that wait for the disk; with more the server reads no further requests


class Synced(NamedTuple):
    """How far the disk is: the last batch that is on it, and the last zxid."""

    number: int
    zxid: int


class _Work(NamedTuple):
    number: int
    batch: Batch | None
    snapshot: Snapshot | None


_STOP: Final = _Work(0, None, None)


class SyncRequestProcessor(Logging):
    """Batches of transactions, numbered from 1 on: handed over by the server, written and synced in that order.

    What is handed over while an fsync runs shares the next one.

    Thread: the server's hands over, SyncThread:0 writes.
    """

    logger_name = "kafka_py.embedded.SyncRequestProcessor"

    def __init__(self, log: TxnLog, zxid: int, on_progress: Callable[[], None]) -> None:
        """Everything up to that zxid is on disk.

        on_progress is called when `synced` or `failure` has changed, unless the server waits in await_progress.
        """
        self.synced = Synced(0, zxid)  # volatile: sync thread
        self.failure: Exception | None = None  # volatile: sync thread
        self._txn_log = log
        self._on_progress = on_progress
        self._queue: LinkedBlockingQueue[_Work] = LinkedBlockingQueue("sync")
        self._submitted = 0  # thread: of the server
        self._submitted_size = 0  # thread: of the server
        self._written_size = 0  # volatile: sync thread
        self._is_awaited = False  # volatile: of the server
        self._progress: LinkedBlockingQueue[bool] = LinkedBlockingQueue("progress")
        self._thread = KafkaThread.daemon_thread("SyncThread:0", self._run)

    def startup(self) -> None:
        """Begin to write."""
        self._thread.start()

    def shutdown(self) -> None:
        """Return when everything that was handed over is on disk, or has failed."""
        self._queue.put(_STOP)
        self._thread.join()

    # ----- the server's thread -----

    @property
    def number(self) -> int:
        """The batch that has to be on disk before an answer may leave that is given now."""
        return self._submitted + 1 if self._txn_log.has_pending else self._submitted

    @property
    def is_full(self) -> bool:
        """Whether the disk is so far behind that it should get no more for now."""
        return self._submitted_size - self._written_size >= _MAX_BACKLOG

    def submit(self, tree: DataTree) -> bool:
        """Hand over what was appended to the log, and the tree when a snapshot of it is due; False if nothing was."""
        batch = self._txn_log.take()
        if batch is None:
            return False
        self._submitted += 1
        self._submitted_size += batch.size
        self._queue.put(_Work(self._submitted, batch, self._txn_log.snapshot_if_due(tree)))
        return True

    def await_progress(self) -> None:
        """Wait until more is on disk than before, but not for long."""
        self._progress.clear()
        self._is_awaited = True
        # Only now: what has come to disk before was not told to the queue.
        if self.synced.number < self._submitted and self.failure is None:
            self._progress.poll(_PATIENCE_MS)
        self._is_awaited = False

    # ----- the sync thread -----

    def _run(self) -> None:
        try:
            while self._process():
                continue
        except Exception as e:  # noqa: BLE001  whatever it is, nothing may be answered any more: the server must stop
            self.failure = e
            self._tell()

    def _process(self) -> bool:
        """Wait for work and do all there is; False at the end."""
        first = self._queue.poll(_IDLE_MS)
        if first is None:
            return True
        works = [first]
        self._queue.drain_to(works)
        goes_on = works[-1] is not _STOP
        group: list[_Work] = []
        for work in works:
            group.append(work)
            if work.snapshot is not None:
                self._write(group)
                self._txn_log.write_snapshot(work.snapshot)
                self.info("Snapshotted the tree at zxid 0x%x", work.snapshot.zxid)
                group = []
        self._write(group)
        return goes_on

    def _write(self, works: list[_Work]) -> None:
        """One write and one fsync for all of them."""
        batches = [work.batch for work in works if work.batch is not None]
        if not batches:
            return
        self._txn_log.write(batches)
        self._written_size += sum(batch.size for batch in batches)
        self.synced = Synced(max(work.number for work in works), batches[-1].last_zxid)
        self._tell()

    def _tell(self) -> None:
        # The server ceases to wait before it looks how far we are: it sees our change then, or is told of it here.
        if self._is_awaited:
            self._progress.put(True)
        else:
            self._on_progress()
