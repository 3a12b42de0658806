"""What the assignment of replicas needs to know of a broker.

Mirrors: core/src/main/scala/kafka/admin/BrokerMetadata.scala @ 1.1.1
"""

from __future__ import annotations

from typing import NamedTuple


class BrokerMetadata(NamedTuple):
    """Id and rack (None: not known) of a broker.

    Mirrors: kafka.admin.BrokerMetadata
    """

    id: int
    rack: str | None = None
