"""Whether a producer's next write belongs to a transaction, as long as that is being asked.

Mirrors: storage/src/main/java/org/apache/kafka/storage/internals/log/VerificationGuard.java and
         VerificationStateEntry.java @ 3.7.1
Read next: producer_state_manager.py (keeps the entries), producer_updates.py (where a batch has to show its guard),
    server/add_partitions_to_txn_manager.py (who asks)

A batch that begins a transaction in a partition is appended only if the coordinator says that the partition belongs to
the transaction. The answer may come late: an abort marker may be written meanwhile and another transaction be begun. So
the question leaves a guard in the log, which goes with the first batch and with each marker, and the batch has to show
the very same one.
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.utils.concurrent import AtomicLong


class VerificationGuard:
    """Equal to itself only; SENTINEL, which stands for none, verifies nothing.

    Mirrors: org.apache.kafka.storage.internals.log.VerificationGuard @ 3.7.1
    """

    __slots__ = ("_value",)

    SENTINEL: ClassVar[VerificationGuard]
    _INCREMENTING_ID: ClassVar[AtomicLong] = AtomicLong(0)

    def __init__(self, value: int | None = None) -> None:
        self._value = self._INCREMENTING_ID.increment_and_get() if value is None else value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VerificationGuard) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return f"VerificationGuard(value={self._value})"

    def verify(self, verifying_guard: VerificationGuard) -> bool:
        """Whether the other is this one, and not none."""
        return verifying_guard != VerificationGuard.SENTINEL and verifying_guard == self


VerificationGuard.SENTINEL = VerificationGuard(0)


class VerificationStateEntry:
    """The guard of a producer, and the lowest sequence that waits for it.

    A batch with a higher sequence is not to be written before the one with the lowest, which may have to be sent again.

    Mirrors: org.apache.kafka.storage.internals.log.VerificationStateEntry @ 3.7.1
    Thread:  holders of Log.lock.
    """

    __slots__ = ("epoch", "lowest_sequence", "timestamp", "verification_guard")

    def __init__(self, timestamp: int, sequence: int, epoch: int) -> None:
        """`timestamp` in ms; by it an entry that was never used is forgotten."""
        self.timestamp = timestamp
        self.verification_guard = VerificationGuard()
        self.lowest_sequence = sequence  # volatile: holders of Log.lock
        self.epoch = epoch  # volatile: holders of Log.lock

    def maybe_update_lowest_sequence_and_epoch(self, incoming_sequence: int, incoming_epoch: int) -> None:
        """Take over a lower sequence of the same epoch, and whatever a higher epoch begins with."""
        if incoming_epoch == self.epoch and incoming_sequence < self.lowest_sequence:
            self.lowest_sequence = incoming_sequence
        if incoming_epoch > self.epoch:
            self.epoch = incoming_epoch
            self.lowest_sequence = incoming_sequence
