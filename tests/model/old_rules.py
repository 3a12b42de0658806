"""What 1.1.1 did where this broker does otherwise, to be put in for a test: the model has to find the harm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_py.cluster.partition import Partition
from kafka_py.log.log import Log
from kafka_py.server.abstract_fetcher_thread import AbstractFetcherThread
from kafka_py.server.replica_fetcher_thread import ReplicaFetcherThread

if TYPE_CHECKING:
    import pytest


def joins_at_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-7128: a replica joins the ISR although it lacks what the leader had at its election."""
    begin_to_join = Partition._begin_to_join

    def old(self: Any, *args: Any) -> bool:
        start, self._leader_epoch_start_offset = self._leader_epoch_start_offset, 0
        try:
            return begin_to_join(self, *args)
        finally:
            self._leader_epoch_start_offset = start

    patch.setattr(Partition, "_begin_to_join", old)


def notes_an_epoch_with_its_first_record(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-7415."""

    def old(self: Any, leader_replica: Any) -> None:
        self._leader_epoch_start_offset = leader_replica.log.log_end_offset

    patch.setattr(Partition, "_start_leader_epoch", old)


def goes_on_with_the_same_leader(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-7164: a follower that missed an epoch does not truncate."""
    make_follower = Partition.make_follower

    def old(self: Any, controller_id: int, state: Any, *args: Any) -> bool:
        before = self.leader_replica_id_opt
        make_follower(self, controller_id, state, *args)
        return bool(before != state.base_partition_state.leader)

    patch.setattr(Partition, "make_follower", old)


def takes_the_first_answer_about_epochs(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-6361."""
    thread = ReplicaFetcherThread
    patch.setattr(thread, "_look_back_for_an_epoch_in_common", lambda self, latest_epochs, result: None)
    patch.setattr(thread, "_offset_truncation_state", lambda self, *args: (self._truncation_offset(*args), True))


def takes_an_isr_without_answer_for_unwritten(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-8836."""
    update_isr = Partition._update_isr

    def old(self: Any, new_isr: Any) -> None:
        try:
            update_isr(self, new_isr)
        finally:
            self._forget_isr_in_doubt()

    patch.setattr(Partition, "_update_isr", old)


def applies_a_stale_answer_about_epochs(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-7395."""

    def old(self: Any) -> None:
        with self._partition_map_lock:
            asked, failed = self.build_leader_epoch_request(self._states())
        self.handle_partitions_with_errors(failed)
        if asked:
            answers = self.fetch_epochs_from_leader(asked)
            with self._partition_map_lock:
                known = {tp: answer for tp, answer in answers.items() if tp in self.partition_states}
                offsets, failed = self.truncate(known)
                self.handle_partitions_with_errors(failed)
                self._mark_truncation_complete_and_update_fetch_offset(offsets)

    patch.setattr(AbstractFetcherThread, "maybe_truncate", old)


def keeps_an_epoch_without_records(patch: pytest.MonkeyPatch) -> None:
    """A truncation that has nothing to cut leaves the leader epochs alone."""
    truncate_to = Log.truncate_to

    def old(self: Any, target_offset: int) -> bool:
        return target_offset < self.log_end_offset and truncate_to(self, target_offset)

    patch.setattr(Log, "truncate_to", old)
