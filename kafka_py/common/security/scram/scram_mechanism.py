"""The SCRAM mechanisms.

Mirrors: clients/src/main/java/org/apache/kafka/common/security/scram/internals/ScramMechanism.java @ 3.7.1
"""

from __future__ import annotations

import enum


class ScramMechanism(enum.Enum):
    """Name, hash and least number of iterations of a mechanism.

    Mirrors: org.apache.kafka.common.security.scram.internals.ScramMechanism @ 3.7.1
    """

    SCRAM_SHA_256 = ("SHA-256", 4096)
    SCRAM_SHA_512 = ("SHA-512", 4096)

    def mechanism_name(self) -> str:
        """SCRAM-SHA-256 or SCRAM-SHA-512."""
        return f"SCRAM-{self.value[0]}"

    def hash_algorithm(self) -> str:
        """SHA-256 or SHA-512."""
        return self.value[0]

    def min_iterations(self) -> int:
        """Fewer iterations are refused."""
        return self.value[1]

    @staticmethod
    def for_mechanism_name(name: str) -> ScramMechanism | None:
        """The mechanism of a name, or None."""
        return next((m for m in ScramMechanism if m.mechanism_name() == name), None)

    @staticmethod
    def is_scram(name: str) -> bool:
        """Whether the name is one of these mechanisms'."""
        return ScramMechanism.for_mechanism_name(name) is not None

    @staticmethod
    def mechanism_names() -> list[str]:
        """The names of all."""
        return [m.mechanism_name() for m in ScramMechanism]
