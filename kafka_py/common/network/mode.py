"""Which end of a connection we are.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/Mode.java @ 3.7.1
"""

from __future__ import annotations

import enum


class Mode(enum.Enum):
    """The end that connects, or the end that accepts.

    Mirrors: org.apache.kafka.common.network.Mode @ 3.7.1
    """

    CLIENT = "CLIENT"
    SERVER = "SERVER"
