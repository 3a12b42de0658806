"""What kind of election is asked for.

Mirrors: clients/src/main/java/org/apache/kafka/common/ElectionType.java @ 2.5.1
"""

from __future__ import annotations

import enum

from kafka_py.common.errors import IllegalArgumentException


class ElectionType(enum.Enum):
    """PREFERRED: the first replica, if it is in sync. UNCLEAN: any, if none that is in sync lives; records may be lost.

    Mirrors: org.apache.kafka.common.ElectionType @ 2.5.1
    """

    PREFERRED = 0
    UNCLEAN = 1

    @staticmethod
    def value_of(value: int) -> ElectionType:
        """The type with that number on the wire; IllegalArgumentException if there is none."""
        try:
            return ElectionType(value)
        except ValueError:
            raise IllegalArgumentException(f"Value {value} must be one of [PREFERRED, UNCLEAN]") from None

    def __str__(self) -> str:
        return self.name
