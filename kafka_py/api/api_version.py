"""The versions of the inter-broker protocol.

Mirrors: core/src/main/scala/kafka/api/ApiVersion.scala @ 1.1.1 (from 2.0-IV0 on as in 2.5.1)
Read next: server/kafka_config.py (inter.broker.protocol.version, log.message.format.version)
"""

from __future__ import annotations

from functools import total_ordering
from typing import ClassVar

from kafka_py.common.record.record_format import RecordFormat


@total_ordering
class ApiVersion:
    """A step in the protocol that brokers speak among themselves; later steps are greater.

    A release may have several: 0.10.0-IV0, 0.10.0-IV1; the name of the release stands for its last one.

    Mirrors: kafka.api.ApiVersion
    Left out: toString, orderingByVersion, compare -- ``__str__`` and the comparison operators
    """

    __slots__ = ("id", "message_format_version", "version")

    _VERSION_NAME_MAP: ClassVar[dict[str, ApiVersion]] = {}

    def __init__(self, id: int, version: str, message_format_version: RecordFormat) -> None:
        self.id = id
        self.version = version
        self.message_format_version = message_format_version

    @classmethod
    def apply(cls, version: str) -> ApiVersion:
        """The version of a text such as 1.1, 1.1-IV0 or 0.10.2.1; ValueError if there is none."""
        segments = 3 if version.startswith("0.") else 2
        found = cls._VERSION_NAME_MAP.get(".".join(version.split(".")[:segments]))
        if found is None:
            raise ValueError(f"Version `{version}` is not a valid version")
        return found

    @classmethod
    def latest_version(cls) -> ApiVersion:
        """The version that this broker speaks unless it is told otherwise."""
        return max(cls._VERSION_NAME_MAP.values())

    @classmethod
    def all_versions(cls) -> set[ApiVersion]:
        """All versions."""
        return set(cls._VERSION_NAME_MAP.values())

    @staticmethod
    def min_version_for_message_format(message_format_version: RecordFormat) -> str:
        """The first release that knows a message format; ValueError for an unknown format."""
        for record_format, version in (
            (RecordFormat.V0, "0.8.0"),
            (RecordFormat.V1, "0.10.0"),
            (RecordFormat.V2, "0.11.0"),
        ):
            if record_format is message_format_version:
                return version
        raise ValueError(f"Invalid message format version {message_format_version}")

    def __lt__(self, other: ApiVersion) -> bool:
        return self.id < other.id

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return self.id

    def __str__(self) -> str:
        return self.version

    def __repr__(self) -> str:
        return f"ApiVersion({self.version})"


KAFKA_0_8_0 = ApiVersion(0, "0.8.0.X", RecordFormat.V0)
KAFKA_0_8_1 = ApiVersion(1, "0.8.1.X", RecordFormat.V0)
KAFKA_0_8_2 = ApiVersion(2, "0.8.2.X", RecordFormat.V0)
KAFKA_0_9_0 = ApiVersion(3, "0.9.0.X", RecordFormat.V0)
KAFKA_0_10_0_IV0 = ApiVersion(4, "0.10.0-IV0", RecordFormat.V1)
KAFKA_0_10_0_IV1 = ApiVersion(5, "0.10.0-IV1", RecordFormat.V1)
KAFKA_0_10_1_IV0 = ApiVersion(6, "0.10.1-IV0", RecordFormat.V1)
KAFKA_0_10_1_IV1 = ApiVersion(7, "0.10.1-IV1", RecordFormat.V1)
KAFKA_0_10_1_IV2 = ApiVersion(8, "0.10.1-IV2", RecordFormat.V1)
KAFKA_0_10_2_IV0 = ApiVersion(9, "0.10.2-IV0", RecordFormat.V1)
KAFKA_0_11_0_IV0 = ApiVersion(10, "0.11.0-IV0", RecordFormat.V2)
KAFKA_0_11_0_IV1 = ApiVersion(11, "0.11.0-IV1", RecordFormat.V2)
KAFKA_0_11_0_IV2 = ApiVersion(12, "0.11.0-IV2", RecordFormat.V2)
KAFKA_1_0_IV0 = ApiVersion(13, "1.0-IV0", RecordFormat.V2)
KAFKA_1_1_IV0 = ApiVersion(14, "1.1-IV0", RecordFormat.V2)
KAFKA_2_0_IV0 = ApiVersion(15, "2.0-IV0", RecordFormat.V2)
KAFKA_2_0_IV1 = ApiVersion(16, "2.0-IV1", RecordFormat.V2)
KAFKA_2_1_IV0 = ApiVersion(17, "2.1-IV0", RecordFormat.V2)
KAFKA_2_1_IV1 = ApiVersion(18, "2.1-IV1", RecordFormat.V2)
KAFKA_2_1_IV2 = ApiVersion(19, "2.1-IV2", RecordFormat.V2)
KAFKA_2_2_IV0 = ApiVersion(20, "2.2-IV0", RecordFormat.V2)
KAFKA_2_2_IV1 = ApiVersion(21, "2.2-IV1", RecordFormat.V2)
KAFKA_2_3_IV0 = ApiVersion(22, "2.3-IV0", RecordFormat.V2)
KAFKA_2_3_IV1 = ApiVersion(23, "2.3-IV1", RecordFormat.V2)
KAFKA_2_4_IV0 = ApiVersion(24, "2.4-IV0", RecordFormat.V2)
KAFKA_2_4_IV1 = ApiVersion(25, "2.4-IV1", RecordFormat.V2)
KAFKA_2_5_IV0 = ApiVersion(26, "2.5-IV0", RecordFormat.V2)

ApiVersion._VERSION_NAME_MAP.update(
    {
        "0.8.0": KAFKA_0_8_0,
        "0.8.1": KAFKA_0_8_1,
        "0.8.2": KAFKA_0_8_2,
        "0.9.0": KAFKA_0_9_0,
        # message format 1: timestamps (KIP-31, KIP-32)
        "0.10.0-IV0": KAFKA_0_10_0_IV0,
        # racks (KIP-36), SASL handshake (KIP-43)
        "0.10.0-IV1": KAFKA_0_10_0_IV1,
        "0.10.0": KAFKA_0_10_0_IV1,
        # JoinGroup with a rebalance timeout (KIP-62)
        "0.10.1-IV0": KAFKA_0_10_1_IV0,
        # Fetch with a limit of the whole response (KIP-74)
        "0.10.1-IV1": KAFKA_0_10_1_IV1,
        # ListOffsets by timestamp (KIP-79)
        "0.10.1-IV2": KAFKA_0_10_1_IV2,
        "0.10.1": KAFKA_0_10_1_IV2,
        # UpdateMetadata with listener names (KIP-103)
        "0.10.2-IV0": KAFKA_0_10_2_IV0,
        "0.10.2": KAFKA_0_10_2_IV0,
        # message format 2: idempotent producers and transactions (KIP-98)
        "0.11.0-IV0": KAFKA_0_11_0_IV0,
        # DeleteRecords, and Fetch with the follower's log start offset (KIP-107)
        "0.11.0-IV1": KAFKA_0_11_0_IV1,
        # followers ask for leader epochs (KIP-101)
        "0.11.0-IV2": KAFKA_0_11_0_IV2,
        "0.11.0": KAFKA_0_11_0_IV2,
        # offline log directories (KIP-112)
        "1.0-IV0": KAFKA_1_0_IV0,
        "1.0": KAFKA_1_0_IV0,
        # fetch sessions (KIP-227), DeleteGroups (KIP-229)
        "1.1-IV0": KAFKA_1_1_IV0,
        "1.1": KAFKA_1_1_IV0,
        # OffsetForLeaderEpoch answers with an epoch (KIP-279)
        "2.0-IV0": KAFKA_2_0_IV0,
        # clients wait by themselves when they are throttled (KIP-219)
        "2.0-IV1": KAFKA_2_0_IV1,
        "2.0": KAFKA_2_0_IV1,
        # offsets that expire with their group (KIP-211): new records in __consumer_offsets
        "2.1-IV0": KAFKA_2_1_IV0,
        # readers are fenced by leader epochs (KIP-320)
        "2.1-IV1": KAFKA_2_1_IV1,
        # zstd (KIP-110)
        "2.1-IV2": KAFKA_2_1_IV2,
        "2.1": KAFKA_2_1_IV2,
        # broker epochs (KIP-380)
        "2.2-IV0": KAFKA_2_2_IV0,
        # ListOffsets waits for the high watermark after an election (KIP-207)
        "2.2-IV1": KAFKA_2_2_IV1,
        "2.2": KAFKA_2_2_IV1,
        # static members (KIP-345): new records in __consumer_offsets
        "2.3-IV0": KAFKA_2_3_IV0,
        # racks in Fetch (KIP-392)
        "2.3-IV1": KAFKA_2_3_IV1,
        "2.3": KAFKA_2_3_IV1,
        # reassignments in LeaderAndIsr (KIP-455)
        "2.4-IV0": KAFKA_2_4_IV0,
        # flexible versions between brokers (KIP-482)
        "2.4-IV1": KAFKA_2_4_IV1,
        "2.4": KAFKA_2_4_IV1,
        # as 2.4-IV1
        "2.5-IV0": KAFKA_2_5_IV0,
        "2.5": KAFKA_2_5_IV0,
    }
)
