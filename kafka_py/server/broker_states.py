"""Where a broker stands between start and stop.

Mirrors: core/src/main/scala/kafka/server/BrokerStates.scala @ 1.1.1
"""

from __future__ import annotations

from typing import Final


class BrokerStates:
    """One state with the number the BrokerState metric shows; 4 and 5 are free, as in the original.

    Mirrors: kafka.server.BrokerStates
    """

    __slots__ = ("name", "state")

    def __init__(self, name: str, state: int) -> None:
        """Name and number."""
        self.name = name
        self.state = state

    def __repr__(self) -> str:
        """The name, as Scala prints a case object."""
        return self.name


NotRunning: Final = BrokerStates("NotRunning", 0)
Starting: Final = BrokerStates("Starting", 1)
RecoveringFromUncleanShutdown: Final = BrokerStates("RecoveringFromUncleanShutdown", 2)
RunningAsBroker: Final = BrokerStates("RunningAsBroker", 3)
PendingControlledShutdown: Final = BrokerStates("PendingControlledShutdown", 6)
BrokerShuttingDown: Final = BrokerStates("BrokerShuttingDown", 7)


class BrokerState:
    """The current state; a custom one may be given by number.

    Mirrors: kafka.server.BrokerState
    Thread: start-up, shutdown and log loading write; the metric reads.
    """

    def __init__(self) -> None:
        """Not running."""
        self.current_state = NotRunning.state  # volatile: whoever moves the broker on

    def new_state(self, new_state: BrokerStates | int) -> None:
        """Go over to a state."""
        self.current_state = new_state if isinstance(new_state, int) else new_state.state
