"""Where --reset-offsets of kafka-consumer-groups sets a group's offsets.

Mirrors: core/src/main/scala/kafka/admin/ConsumerGroupCommand.scala @ 1.1.1 (the methods around prepareOffsetsToReset,
and convertTimestamp); 2.5.1 for plans of several groups
"""

from __future__ import annotations

import csv
import datetime
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from kafka_py.admin.consumer_group_states import print_error
from kafka_py.common.errors import IllegalArgumentException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.requests.list_offset_response import ListOffsetResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.utils import read_file_as_string
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.admin.consumer_group_command_options import ConsumerGroupCommandOptions
    from kafka_py.admin.consumer_groups_client import ConsumerGroupsClient

Offsets = dict[TopicPartition, int]
_DATETIME = re.compile(r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)\.(\d+)(?:(Z)|([+-])(\d\d)(?::?(\d\d))?)?", re.ASCII)
_DURATION = re.compile(
    r"([+-]?)P(?:([+-]?\d+)D)?(?:T(?=[\d+-])(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)


def convert_timestamp(text: str) -> int:
    """Milliseconds since 1970 of 2026-11-23T10:00:00.000, in UTC if no zone follows; raises ValueError.

    The milliseconds must be there. As with Java's lenient format their digits are a number: .5 is five of them.
    """
    found = _DATETIME.fullmatch(text)
    if found is None:
        raise ValueError(f'Unparseable date: "{text}"')
    year, month, day, hour, minute, second, millis = map(int, found.groups()[:7])
    _, sign, zone_hours, zone_minutes = found.groups()[7:]
    zone = datetime.timedelta(hours=int(zone_hours or 0), minutes=int(zone_minutes or 0))
    moment = datetime.datetime(year, month, day, tzinfo=datetime.UTC)
    moment += datetime.timedelta(hours=hour, minutes=minute, seconds=second, milliseconds=millis)
    moment += zone if sign == "-" else -zone
    return (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(milliseconds=1)


def duration_ms(text: str) -> int:
    """Milliseconds of P1DT2H3M4.5S; raises ValueError."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()[1:5]):
        raise ValueError("Text cannot be parsed to a Duration")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:5])
    fraction = int((found[6] or "").ljust(9, "0")[:3])
    if (found[5] or "").startswith("-"):
        fraction = -fraction
    total = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + fraction
    return -total if found[1] == "-" else total


def print_offsets_to_reset(offsets: Mapping[str, Offsets], with_group: bool) -> None:
    """The new offsets as a table, with the group as first column where there are several."""
    line = "{:<30} {:<30} {:<10} {:<15}" if with_group else "{1:<30} {2:<10} {3:<15}"
    print("\n" + line.format("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"))
    for group, of_group in offsets.items():
        for tp, offset in of_group.items():
            print(line.format(group, tp.topic, tp.partition, offset))


class OffsetsReset(Logging):
    """Works out the new offsets of groups.

    Mirrors: kafka.admin.ConsumerGroupCommand.KafkaConsumerGroupService (getPartitionsToReset, prepareOffsetsToReset)
    Left out: listGroups, collectGroupOffsets, collectGroupMembers, collectGroupState, getLogEndOffsets,
        getLogStartOffsets, parseResetPlan, close, createAdminClient, getConsumer, createNewConsumer,
        resetOffsets, exportOffsetsToReset, deleteGroups -- the service's, in consumer_group_command.py
    """

    logger_name = "kafka.admin.ConsumerGroupCommand$"

    def __init__(self, opts: ConsumerGroupCommandOptions, client: ConsumerGroupsClient, now_ms: int) -> None:
        """``now_ms`` is what --by-duration counts back from."""
        self._opts = opts
        self._client = client
        self._now_ms = now_ms
        self._timeout_ms: int = opts.options.value_of(opts.timeout_ms_opt)
        # A scenario's option, and what gives the offsets of a group's partitions.
        self._scenarios: dict[str, Callable[[str, Sequence[TopicPartition]], Offsets]] = {
            "to-offset": self._to_offset,
            "to-earliest": self._to_earliest,
            "to-latest": self._to_latest,
            "shift-by": self._shift_by,
            "to-datetime": self._to_datetime,
            "by-duration": self._by_duration,
            "from-file": self._from_file,
            "to-current": self._to_current,
        }

    def prepare_offsets_to_reset(self, group_id: str) -> Offsets:
        """The offsets that the group is to have; ends the process where the options do not say it.

        Raises what answers say, and IllegalArgumentException where there is nothing to shift.
        """
        partitions = self._get_partitions_to_reset(group_id)
        for option, scenario in self._scenarios.items():
            if self._opts.options.has(option):
                return dict(sorted(scenario(group_id, partitions).items()))
        names = ", ".join(map(str, self._opts.all_reset_offset_scenario_opts))
        self._die(f"Option '{self._opts.reset_offsets_opt}' requires one of the following scenarios: {names}")

    def _die(self, message: str) -> NoReturn:
        self._opts.die(message)
        raise SystemExit(1)

    def _get_partitions_to_reset(self, group_id: str) -> list[TopicPartition]:
        opts = self._opts
        if opts.has(opts.all_topics_opt):
            return list(self._client.list_group_offsets(group_id, self._timeout_ms))
        if opts.has(opts.topic_opt):
            return self._parse_topic_partitions_to_reset(opts.options.values_of(opts.topic_opt))
        if opts.has(opts.reset_from_file_opt):
            return []
        self._die("One of the reset scopes should be defined: --all-topics, --topic.")

    def _parse_topic_partitions_to_reset(self, topics: Iterable[str]) -> list[TopicPartition]:
        partitions: list[TopicPartition] = []
        for topic in topics:
            if ":" in topic:
                partitions += partitions_named(topic)
                continue
            found = self._client.partitions_for([topic])[topic]
            if isinstance(found, Errors):
                found.maybe_throw()
            else:
                partitions += found
        return list(dict.fromkeys(partitions))

    # -- the scenarios

    def _to_offset(self, group_id: str, partitions: Sequence[TopicPartition]) -> Offsets:
        offset: int = self._opts.options.value_of(self._opts.reset_to_offset_opt)
        return self._check_offsets_range(dict.fromkeys(partitions, offset))

    def _to_earliest(self, group_id: str, partitions: Sequence[TopicPartition]) -> Offsets:
        return self._log_offsets(partitions, ListOffsetRequest.EARLIEST_TIMESTAMP, "Error getting starting offset of")

    def _to_latest(self, group_id: str, partitions: Sequence[TopicPartition]) -> Offsets:
        return self._log_offsets(partitions, ListOffsetRequest.LATEST_TIMESTAMP, "Error getting ending offset of")

    def _shift_by(self, group_id: str, partitions: Sequence[TopicPartition]) -> Offsets:
        current = self._client.list_group_offsets(group_id, self._timeout_ms)
        for tp in partitions:
            if tp not in current:
                raise IllegalArgumentException(
                    f"Cannot shift offset for partition {tp} since there is no current committed offset"
                )
        shift: int = self._opts.options.value_of(self._opts.reset_shift_by_opt)
        return self._check_offsets_range({tp: current[tp] + shift for tp in partitions})

    def _to_datetime(self, group_id: str, partitions: Sequence[TopicPartition]) -> Offsets:
        text = self._opts.options.value_of(self._opts.reset_to_datetime_opt)
        return self._get_log_timestamp_offsets(partitions, convert_timestamp(text))

    def _by_duration(self, group_id: str, partitions: Sequence[TopicPartition]) -> Offsets:
        text = self._opts.options.value_of(self._opts.reset_by_duration_opt)
        return self._get_log_timestamp_offsets(partitions, self._now_ms - duration_ms(text))

    def _from_file(self, group_id: str, partitions: Sequence[TopicPartition]) -> Offsets:
        opts = self._opts
        groups = opts.options.values_of(opts.group_opt)
        plan = parse_reset_plan(read_file_as_string(opts.options.value_of(opts.reset_from_file_opt)), groups)
        if group_id not in plan:
            print_error(f"No reset plan for group {group_id} found")
            return {}
        return self._check_offsets_range(plan[group_id])

    def _to_current(self, group_id: str, partitions: Sequence[TopicPartition]) -> Offsets:
        current = self._client.list_group_offsets(group_id, self._timeout_ms)
        without = [tp for tp in partitions if tp not in current]
        return {tp: current[tp] for tp in partitions if tp in current} | self._to_latest(group_id, without)

    # -- where logs begin and end

    def _log_offsets(self, partitions: Sequence[TopicPartition], timestamp: int, error: str) -> Offsets:
        """Ends the process for a partition that does not exist."""
        found = self._client.list_offsets(partitions, timestamp, self._timeout_ms) if partitions else {}
        offsets = {tp: offset for tp, offset in found.items() if offset is not None}
        for tp in partitions:
            if tp not in offsets:
                self._die(f"{error} topic partition: {tp}")
        return offsets

    def _get_log_timestamp_offsets(self, partitions: Sequence[TopicPartition], timestamp: int) -> Offsets:
        """Of the first records not before; where there is none, of the end."""
        found = self._log_offsets(partitions, timestamp, "Error getting offset by timestamp of")
        none = [tp for tp, offset in found.items() if offset == ListOffsetResponse.UNKNOWN_OFFSET]
        return found | self._to_latest("", none)

    def _check_offsets_range(self, requested: Mapping[TopicPartition, int]) -> Offsets:
        """The offsets moved into the logs they are of, with a warning for each that is moved."""
        starts = self._to_earliest("", list(requested))
        ends = self._to_latest("", list(requested))
        checked: Offsets = {}
        for tp, offset in requested.items():
            checked[tp] = min(max(offset, starts[tp]), ends[tp])
            if offset > ends[tp]:
                self.warn(
                    "New offset (%s) is higher than latest offset for topic partition %s. Value will be set to %s",
                    offset, tp, ends[tp],
                )  # fmt: skip
            elif offset < starts[tp]:
                self.warn(
                    "New offset (%s) is lower than earliest offset for topic partition %s. Value will be set to %s",
                    offset, tp, starts[tp],
                )  # fmt: skip
        return checked


def partitions_named(topic: str) -> list[TopicPartition]:
    """The partitions in topic:0,1,2; raises ValueError."""
    name, _, numbers = topic.partition(":")
    return [TopicPartition(name, int(number)) for number in numbers.split(",")]


def parse_reset_plan(text: str, groups: Sequence[str]) -> dict[str, Offsets]:
    """The lines topic,partition,offset, or with a group in front where there is not exactly one; raises ValueError."""
    rows = [[field.strip() for field in row] for row in csv.reader(text.splitlines()) if row]
    single = len(groups) == 1 and bool(rows) and len(rows[0]) == 3
    plan: dict[str, Offsets] = {}
    for row in rows:
        if len(row) != (3 if single else 4):
            raise ValueError(f"Not a line of a reset plan: {','.join(row)}")
        group = groups[0] if single else row[0]
        topic, partition, offset = row[-3:]
        plan.setdefault(group, {})[TopicPartition(topic, int(partition))] = int(offset)
    return plan
