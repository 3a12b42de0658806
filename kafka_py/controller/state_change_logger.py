"""Writes to state-change.log: every decision about a partition or replica, with who made it and in which epoch.

Mirrors: core/src/main/scala/kafka/controller/StateChangeLogger.scala @ 1.1.1
"""

from __future__ import annotations

from kafka_py.utils.logging import Logging


class StateChangeLogger(Logging):
    """A logger whose prefix says whether the controller speaks (and in which epoch) or a broker.

    Mirrors: kafka.controller.StateChangeLogger
    """

    logger_name = "state.change.logger"

    def __init__(self, broker_id: int, in_controller_context: bool, controller_epoch: int | None = None) -> None:
        """Raises ValueError for an epoch outside the controller: a broker has none to speak of."""
        if controller_epoch is not None and not in_controller_context:
            raise ValueError("Controller epoch should only be defined if inControllerContext is true")
        self.broker_id = broker_id
        self.in_controller_context = in_controller_context
        prefix = "Controller" if in_controller_context else "Broker"
        epoch_entry = "" if controller_epoch is None else f" epoch={controller_epoch}"
        self.log_ident = f"[{prefix} id={broker_id}{epoch_entry}] "

    def with_controller_epoch(self, controller_epoch: int) -> StateChangeLogger:
        return StateChangeLogger(self.broker_id, self.in_controller_context, controller_epoch)

    def message_with_prefix(self, message: str) -> str:
        """The text as this logger would write it, for exceptions that shall carry the same prefix."""
        return self.log_ident + message
