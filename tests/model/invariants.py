"""What holds in every state of the model, whatever came before."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tests.model.broker import TP, Broker, Entry
from tests.model.three_replicas import IDS, ThreeReplicas


class Invariants:
    """Looks at a model after each step; remembers what may not go back."""

    def __init__(self, model: ThreeReplicas) -> None:
        self._model = model
        self._high_watermarks: dict[tuple[Broker, int], int] = {}

    def broken(self) -> list[str]:
        """Those that do not hold, in words."""
        model = self._model
        logs = {i: model.log(i) for i in IDS}
        found = [*self._acknowledged(logs), *self._matching(logs)]
        for i, broker in model.running.items():
            found += self._high_watermark(i, broker, logs[i])
            if broker.log is not None:
                found += _epochs(i, broker, logs[i])
            if broker.fetchers.failed_partitions.contains(TP):
                found.append(f"broker {i} has given its partition up")
        return found

    def _acknowledged(self, logs: dict[int, tuple[Entry, ...]]) -> Iterator[str]:
        """The leader has all that a producer was told of, and so has each member of the ISR (StrongIsr)."""
        model = self._model
        state = model.state
        leader = model.brokers.get(state.leader)
        leads = leader is not None and leader.leads and leader.partition.get_leader_epoch == state.leader_epoch
        for entry in model.acked.values():
            for i in sorted(state.isr):
                if entry not in logs[i]:
                    who = "the leader" if leads and i == state.leader else "of the ISR"
                    yield f"acknowledged {entry} is not on broker {i}, {who}: {logs[i]}"

    def _matching(self, logs: dict[int, tuple[Entry, ...]]) -> Iterator[str]:
        running = self._model.running
        for i in IDS:
            for j in range(i + 1, len(IDS) + 1):
                common = 0
                if i in running and j in running:
                    common = min(running[i].high_watermark, running[j].high_watermark)
                for ours, theirs in zip(logs[i], logs[j], strict=False):
                    if ours != theirs and (ours.epoch == theirs.epoch or ours.offset < common):
                        yield f"brokers {i} and {j} have {ours} and {theirs}, high watermarks from {common} on"

    def _high_watermark(self, i: int, broker: Broker, log: tuple[Entry, ...]) -> Iterator[str]:
        high_watermark = broker.high_watermark
        if high_watermark > len(log):
            yield f"broker {i} has high watermark {high_watermark} and {len(log)} records"
        if broker.leads:
            key = (broker, broker.partition.get_leader_epoch)
            before = self._high_watermarks.get(key, 0)
            if high_watermark < before:
                yield f"the high watermark of leader {i} went back from {before} to {high_watermark}"
            self._high_watermarks[key] = high_watermark


def _epochs(i: int, broker: Broker, log: tuple[Entry, ...]) -> Iterator[str]:
    """The cache grows in both columns, and says of each record its epoch."""
    epochs = broker.epochs()
    for (epoch, start), (next_epoch, next_start) in pairwise(epochs):
        if next_epoch <= epoch or next_start < start:
            yield f"broker {i} has the epochs {epochs}"
    for entry in log:
        said = [epoch for epoch, start in epochs if start <= entry.offset]
        if not said or said[-1] != entry.epoch:
            yield f"broker {i} has {entry} and the epochs {epochs}"
