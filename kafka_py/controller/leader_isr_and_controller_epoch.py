"""What a partition's state znode says, with the epoch of the controller that wrote it.

Mirrors: LeaderIsrAndControllerEpoch of core/src/main/scala/kafka/controller/KafkaController.scala @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kafka_py.api.leader_and_isr import LeaderAndIsr


class LeaderIsrAndControllerEpoch(NamedTuple):
    """Leader, ISR and leader epoch of a partition, and the controller epoch they were decided in.

    Mirrors: kafka.controller.LeaderIsrAndControllerEpoch
    """

    leader_and_isr: LeaderAndIsr
    controller_epoch: int

    def __str__(self) -> str:
        isr = ",".join(map(str, self.leader_and_isr.isr))
        return (
            f"(Leader:{self.leader_and_isr.leader},ISR:{isr},LeaderEpoch:{self.leader_and_isr.leader_epoch},"
            f"ControllerEpoch:{self.controller_epoch})"
        )
