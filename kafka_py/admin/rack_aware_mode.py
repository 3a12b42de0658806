"""Whether replicas are spread over racks.

Mirrors: core/src/main/scala/kafka/admin/RackAwareMode.scala @ 1.1.1
"""

from __future__ import annotations

import enum


class RackAwareMode(enum.Enum):
    """What to do with the brokers' racks when replicas are assigned.

    Mirrors: kafka.admin.RackAwareMode
    """

    Disabled = "Disabled"  # as if no broker had a rack; asked for on the command line
    Enforced = "Enforced"  # all brokers have one, or none: else refuse; what the tools do
    Safe = "Safe"  # use them if all brokers have one, else do without; for topics that create themselves
