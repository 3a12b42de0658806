"""What kafka-consumer-groups found out about groups, and the tables it prints of it.

Mirrors: core/src/main/scala/kafka/admin/ConsumerGroupCommand.scala @ 1.1.1 (the case classes, and the print methods of
ConsumerGroupService); 2.5.1 where the tables show several groups, whose first column is the group
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from kafka_py.common.errors import KafkaException

if TYPE_CHECKING:
    from kafka_py.common.node import Node
    from kafka_py.common.topic_partition import TopicPartition

MISSING_COLUMN_VALUE = "-"
_MIN_WIDTH = 15


class PartitionAssignmentState(NamedTuple):
    """A partition that a group has an offset of or a member for; None where there is nothing to show.

    Mirrors: kafka.admin.ConsumerGroupCommand.PartitionAssignmentState
    """

    group: str
    coordinator: Node | None
    topic: str | None
    partition: int | None
    offset: int | None
    lag: int | None
    consumer_id: str | None
    host: str | None
    client_id: str | None
    log_end_offset: int | None


class MemberAssignmentState(NamedTuple):
    """A member; its assignment is empty unless details were asked for.

    Mirrors: kafka.admin.ConsumerGroupCommand.MemberAssignmentState
    """

    group: str
    consumer_id: str
    host: str
    client_id: str
    num_partitions: int
    assignment: list[TopicPartition]


class GroupState(NamedTuple):
    """A group as a whole.

    Mirrors: kafka.admin.ConsumerGroupCommand.GroupState
    """

    group: str
    coordinator: Node
    assignment_strategy: str
    state: str
    num_members: int


Row = TypeVar("Row")
Cell: TypeAlias = str | int | None


def print_error(msg: str) -> None:
    """To standard output, as Kafka has it."""
    print(f"Error: {msg}")


def should_print_member_state(group: str, state: str, num_rows: int) -> bool:
    """Whether there is a table to print; says what is to be said about the group's state. Raises KafkaException."""
    if state == "Dead":
        print_error(f"Consumer group '{group}' does not exist.")
    elif state == "Empty":
        print(f"Consumer group '{group}' has no active members.", file=sys.stderr)
    elif state in ("PreparingRebalance", "CompletingRebalance"):
        print(f"Warning: Consumer group '{group}' is rebalancing.", file=sys.stderr)
    elif state != "Stable":
        raise KafkaException(f"Expected a valid consumer group state, but found '{state or 'NONE'}'.")
    return state != "Dead" and num_rows > 0


class GroupTables:
    """Prints one table for each group.

    Mirrors: kafka.admin.ConsumerGroupCommand.ConsumerGroupService (printOffsets, printMembers, printState)
    Left out: printState, listGroups, shouldPrintMemberState, size, describeGroup, close, opts, getLogEndOffset,
        getLogEndOffsets, collectGroupOffsets, collectGroupMembers, collectGroupState, collectConsumerAssignment,
        getLag, describePartitions, getDescribePartitionResult, resetOffsets, exportOffsetsToReset, deleteGroups --
        the service's, in consumer_group_command.py; a function; print_states
    """

    def __init__(self, with_group: bool) -> None:
        """With the group's name as first column, as 2.5.1 prints it, or without, as 1.1.1."""
        self._with_group = with_group

    def print_offsets(self, offsets: Mapping[str, tuple[str, Sequence[PartitionAssignmentState]]]) -> None:
        """How far each group is, partition by partition."""
        for group, (state, rows) in offsets.items():
            if should_print_member_state(group, state, len(rows)):
                width = _widths(rows)
                columns = (
                    *self._group_column(width(lambda row: row.group)),
                    ("TOPIC", width(lambda row: row.topic)),
                    ("PARTITION", 10),
                    ("CURRENT-OFFSET", 15),
                    ("LOG-END-OFFSET", 15),
                    ("LAG", 15),
                    ("CONSUMER-ID", width(lambda row: row.consumer_id)),
                    ("HOST", width(lambda row: row.host)),
                    ("CLIENT-ID", 0),
                )
                self._print(columns, ((row.group, row[2], row[3], row[4], row[9], row[5], *row[6:9]) for row in rows))

    def print_members(self, members: Mapping[str, tuple[str, Sequence[MemberAssignmentState]]], verbose: bool) -> None:
        """Who is in each group; with details, also which partitions each member has."""
        for group, (state, rows) in members.items():
            if should_print_member_state(group, state, len(rows)):
                width = _widths(rows)
                columns = (
                    *self._group_column(width(lambda row: row.group)),
                    ("CONSUMER-ID", width(lambda row: row.consumer_id)),
                    ("HOST", width(lambda row: row.host)),
                    ("CLIENT-ID", width(lambda row: row.client_id)),
                    ("#PARTITIONS", 15),
                    ("ASSIGNMENT" if verbose else "", 0),
                )
                self._print(columns, ((*row[:5], _assigned(row) if verbose else "") for row in rows))

    def print_states(self, states: Mapping[str, GroupState]) -> None:
        """Where each group stands."""
        for group, state in states.items():
            if should_print_member_state(group, state.state, 1):
                node = state.coordinator
                coordinator = f"{node.host}:{node.port} ({node.id_string()})"
                columns = (
                    *self._group_column(max(25, len(group))),
                    ("COORDINATOR (ID)", max(25, len(coordinator))),
                    ("ASSIGNMENT-STRATEGY", 25),
                    ("STATE", 20),
                    ("#MEMBERS", 0),
                )
                self._print(columns, [(group, coordinator, state.assignment_strategy, state.state, state.num_members)])

    def _group_column(self, width: int) -> tuple[tuple[str, int], ...]:
        return (("GROUP", width),) if self._with_group else ()

    def _print(self, columns: Sequence[tuple[str, int]], rows: Iterable[Sequence[Cell]]) -> None:
        """Headings behind an empty line, then the rows; the first cell of a row is its group."""
        widths = [width for _, width in columns]
        print("\n" + _line([name for name, _ in columns], widths))
        for row in rows:
            print(_line(row if self._with_group else row[1:], widths))


def _line(cells: Sequence[Cell], widths: Sequence[int]) -> str:
    texts = (MISSING_COLUMN_VALUE if cell is None else str(cell) for cell in cells)
    return " ".join(f"{text:<{width}}" for text, width in zip(texts, widths, strict=True))


def _widths(rows: Sequence[Row]) -> Callable[[Callable[[Row], str | None]], int]:
    """How wide a column must be for what the function gives of each row."""

    def width(of: Callable[[Row], str | None]) -> int:
        return max(_MIN_WIDTH, *(len(of(row) or MISSING_COLUMN_VALUE) for row in rows))

    return width


def _assigned(member: MemberAssignmentState) -> str:
    """topic(0,1), other(2)"""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(member.assignment):
        by_topic.setdefault(topic, []).append(partition)
    return ", ".join(f"{t}({','.join(map(str, ps))})" for t, ps in by_topic.items()) or MISSING_COLUMN_VALUE
