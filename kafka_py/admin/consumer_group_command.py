"""kafka-consumer-groups: lists, describes and deletes consumer groups, and sets or forgets their offsets.

Mirrors: core/src/main/scala/kafka/admin/ConsumerGroupCommand.scala @ 1.1.1; 2.5.1 where several groups are described
or reset at once, and for --delete-offsets

Read next: consumer_group_states.py, the tables; consumer_group_resets.py; consumer_groups_client.py, what is asked
"""

from __future__ import annotations

import csv
import io
import logging
import sys
from collections.abc import Iterable, Mapping, Sequence

from kafka_py.admin.consumer_group_command_options import ConsumerGroupCommandOptions
from kafka_py.admin.consumer_group_resets import Offsets, OffsetsReset, partitions_named, print_offsets_to_reset
from kafka_py.admin.consumer_group_states import (
    MISSING_COLUMN_VALUE,
    GroupState,
    GroupTables,
    MemberAssignmentState,
    PartitionAssignmentState,
    print_error,
)
from kafka_py.admin.consumer_groups_client import ConsumerGroupsClient, ConsumerGroupSummary
from kafka_py.common.errors import KafkaException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.common.utils.utils import load_props
from kafka_py.utils.log4j_configurator import PatternLayout

_PARTITION_LEVEL = (
    Errors.GROUP_SUBSCRIBED_TO_TOPIC,
    Errors.TOPIC_AUTHORIZATION_FAILED,
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
)
_NO_PARTITION = -1  # of a topic that was named without partitions and does not exist


class ConsumerGroupService:
    """The actions.

    Mirrors: kafka.admin.ConsumerGroupCommand.KafkaConsumerGroupService
    Left out: getLogStartOffsets, getLogTimestampOffsets, parseTopicPartitionsToReset, getPartitionsToReset,
        parseResetPlan, prepareOffsetsToReset, checkOffsetsRange, getConsumer, createNewConsumer -- in
        consumer_group_resets.py; there is no consumer behind it, offsets of logs are asked for as such
    Differs: a member's partitions are shown before the group has committed anything, as in 2.5.1; a partition whose
        topic is gone has no end, where 1.1.1 gives up after 30 s. Rows are sorted.
    """

    def __init__(
        self,
        opts: ConsumerGroupCommandOptions,
        admin_client: ConsumerGroupsClient | None = None,
        time: Time = Time.SYSTEM,
    ) -> None:
        """Raises ConfigException for what is no address of a broker."""
        self._opts = opts
        self._time = time
        self._timeout_ms: int = opts.options.value_of(opts.timeout_ms_opt)
        self._admin_client = admin_client or self._create_admin_client()
        self._tables = GroupTables(self.shows_groups)

    def _create_admin_client(self) -> ConsumerGroupsClient:
        opts = self._opts
        if opts.has(opts.command_config_opt):
            load_props(opts.options.value_of(opts.command_config_opt))  # nothing in it matters yet, but it must exist
        return ConsumerGroupsClient.create(opts.options.value_of(opts.bootstrap_server_opt))

    def close(self) -> None:
        self._admin_client.close()

    @property
    def shows_groups(self) -> bool:
        """Whether tables say which group a row is of: unless exactly one was named."""
        return len(self._opts.options.values_of(self._opts.group_opt)) != 1

    def _group_ids(self) -> list[str]:
        if self._opts.has(self._opts.all_groups_opt):
            return self.list_groups()
        return list(dict.fromkeys(self._opts.options.values_of(self._opts.group_opt)))

    def list_groups(self) -> list[str]:
        """The names of all groups of consumers."""
        return [group.group_id for group in self._admin_client.list_all_consumer_groups_flattened()]

    # -- describe

    def describe_group(self) -> None:
        """Print what the options ask for."""
        opts, groups = self._opts, self._group_ids()
        if opts.has(opts.members_opt):
            verbose = opts.has(opts.verbose_opt)
            members = {group: self.collect_group_members(group, verbose) for group in groups}
            self._tables.print_members(members, verbose)
        elif opts.has(opts.state_opt):
            self._tables.print_states({group: self.collect_group_state(group) for group in groups})
        else:
            self._tables.print_offsets({group: self.collect_group_offsets(group) for group in groups})

    def _describe(self, group: str) -> ConsumerGroupSummary:
        return self._admin_client.describe_consumer_group(group, self._timeout_ms)

    def collect_group_offsets(self, group: str) -> tuple[str, list[PartitionAssignmentState]]:
        """The group's state; each member's partitions, the busiest member first, then partitions without a member."""
        summary = self._describe(group)
        offsets = self._admin_client.list_group_offsets(group, self._timeout_ms)
        rows: list[PartitionAssignmentState] = []
        assigned: set[TopicPartition] = set()
        for consumer in sorted(summary.consumers, key=lambda consumer: -len(consumer.assignment)):
            assigned.update(consumer.assignment)
            who = (consumer.consumer_id, consumer.host, consumer.client_id)
            rows += self._collect_consumer_assignment(group, summary, sorted(consumer.assignment), offsets, who)
        nobody = (MISSING_COLUMN_VALUE,) * 3
        left = [tp for tp in offsets if tp not in assigned]
        rows += self._collect_consumer_assignment(group, summary, left, offsets, nobody)
        return summary.state, rows

    def _collect_consumer_assignment(
        self,
        group: str,
        summary: ConsumerGroupSummary,
        partitions: Sequence[TopicPartition],
        offsets: Mapping[TopicPartition, int],
        who: tuple[str, str, str],
    ) -> list[PartitionAssignmentState]:
        ends = self._get_log_end_offsets(partitions)
        rows = []
        for tp in partitions:
            offset, end = offsets.get(tp), ends.get(tp)
            lag = None if offset is None or end is None else end - offset
            rows.append(PartitionAssignmentState(group, summary.coordinator, *tp, offset, lag, *who, end))
        return rows

    def _get_log_end_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int | None]:
        if not partitions:
            return {}
        return self._admin_client.list_offsets(partitions, ListOffsetRequest.LATEST_TIMESTAMP, self._timeout_ms)

    def collect_group_members(self, group: str, verbose: bool) -> tuple[str, list[MemberAssignmentState]]:
        """The group's state and its members, with their partitions if ``verbose``."""
        summary = self._describe(group)
        members = [
            MemberAssignmentState(
                group, c.consumer_id, c.host, c.client_id, len(c.assignment), c.assignment if verbose else []
            )
            for c in summary.consumers
        ]
        return summary.state, members

    def collect_group_state(self, group: str) -> GroupState:
        """Where the group stands."""
        summary = self._describe(group)
        members = len(summary.consumers)
        return GroupState(group, summary.coordinator, summary.assignment_strategy, summary.state, members)

    # -- reset

    def reset_offsets(self) -> dict[str, Offsets]:
        """The new offsets of each group; with --execute they are committed. Groups with members are left as they are.

        Raises the coordinator's answer when it does not take them.
        """
        opts = self._opts
        reset = OffsetsReset(opts, self._admin_client, self._time.milliseconds())
        execute = opts.has(opts.execute_opt) and not opts.has(opts.dry_run_opt)
        result: dict[str, Offsets] = {}
        for group in self._group_ids():
            state = self._describe(group).state
            if state not in ("Empty", "Dead"):
                print_error(
                    f"Assignments can only be reset if the group '{group}' is inactive, but the current state is "
                    f"{state}."
                )
                result[group] = {}
                continue
            result[group] = reset.prepare_offsets_to_reset(group)
            if execute and result[group]:
                self._admin_client.alter_consumer_group_offsets(group, result[group])
        return result

    def export_offsets_to_reset(self, assignments_to_reset: Mapping[str, Offsets]) -> str:
        """Lines of CSV that --from-file reads: topic,partition,offset; the group in front where there are several."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        for group, offsets in assignments_to_reset.items():
            for tp, offset in offsets.items():
                writer.writerow([*([group] if self.shows_groups else []), tp.topic, tp.partition, offset])
        return out.getvalue()

    # -- delete

    def delete_groups(self) -> dict[str, Errors]:
        """Delete the groups, print what became of them, and answer it."""
        result = self._admin_client.delete_consumer_groups(self._group_ids())
        deleted = ", ".join(f"'{group}'" for group, error in result.items() if error is Errors.NONE)
        failed = {group: error for group, error in result.items() if error is not Errors.NONE}
        if not failed:
            print(f"Deletion of requested consumer groups ({deleted}) was successful.")
            return result
        print_error("Deletion of some consumer groups failed:")
        for group, error in failed.items():
            print(f"* Group '{group}' could not be deleted due to: {error}")
        if deleted:
            print(f"\nThese consumer groups were deleted successfully: {deleted}")
        return result

    def delete_offsets_of(self, group_id: str, topics: Iterable[str]) -> tuple[Errors, dict[TopicPartition, Errors]]:
        """Forget the offsets of topics, or topic:0,1,2; the error of the whole, and of each partition.

        A topic that was named without partitions and does not exist stands there with partition -1.
        """
        topics = list(topics)
        known = [tp for topic in topics if ":" in topic for tp in partitions_named(topic)]
        result: dict[TopicPartition, Errors] = {}
        for topic, found in self._admin_client.partitions_for([t for t in topics if ":" not in t]).items():
            if isinstance(found, Errors):
                result[TopicPartition(topic, _NO_PARTITION)] = found
            else:
                known += found
        error, by_partition = self._admin_client.delete_consumer_group_offsets(group_id, known)
        result.update({tp: by_partition.get(tp, error) for tp in known})
        failed = [e for e in by_partition.values() if e is not Errors.NONE]
        return failed[0] if error is Errors.NONE and failed else error, result

    def delete_offsets(self) -> None:
        """Forget offsets and print what became of each partition."""
        group = self._opts.options.value_of(self._opts.group_opt)
        topics = self._opts.options.values_of(self._opts.topic_opt)
        error, by_partition = self.delete_offsets_of(group, topics)
        if error is Errors.NONE:
            print(f"Request succeed for deleting offsets with topic {', '.join(topics)} group {group}")
        else:
            print_error(_why_not_deleted(error, group))
        print(f"\n{'TOPIC':<30} {'PARTITION':<15} {'STATUS':<15}")
        for tp, failure in sorted(by_partition.items()):
            partition = "Not Provided" if tp.partition == _NO_PARTITION else str(tp.partition)
            status = "Successful" if failure is Errors.NONE else f"Error: {failure.message()}"
            print(f"{tp.topic:<30} {partition:<15} {status:<15}")


def _why_not_deleted(error: Errors, group: str) -> str:
    if error in _PARTITION_LEVEL:
        return "Encounter some partition level error, see the follow-up details:"
    reasons = {
        Errors.INVALID_GROUP_ID: f"'{group}' is not valid.",
        Errors.GROUP_ID_NOT_FOUND: f"'{group}' does not exist.",
        Errors.GROUP_AUTHORIZATION_FAILED: f"Access to '{group}' is not authorized.",
        Errors.NON_EMPTY_GROUP: (
            f"Deleting offsets of a consumer group '{group}' is forbidden if the group is not empty."
        ),
    }
    return reasons.get(error, f"Encounter some unknown error: {error}")


class ConsumerGroupCommand:
    """The tool.

    Mirrors: kafka.admin.ConsumerGroupCommand
    Left out: convertTimestamp, printOffsetsToReset, printError -- functions of consumer_group_resets.py and
        consumer_group_states.py
    """

    @staticmethod
    def main(args: Sequence[str]) -> int:
        """0 unless the options make no sense: also, as with Kafka's tool, when what was asked for failed."""
        opts = ConsumerGroupCommandOptions(args)
        if not args:
            opts.die(
                "List all consumer groups, describe a consumer group, delete consumer group info, or reset consumer "
                "group offsets."
            )
        if len(opts.actions) != 1:
            opts.die(
                "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, "
                "--delete-offsets"
            )
        opts.check_args()
        print("Note: This will not show information about old Zookeeper-based consumers.", file=sys.stderr)
        service = ConsumerGroupService(opts)
        try:
            ConsumerGroupCommand.run(service, opts)
        except (KafkaException, OSError, ValueError) as e:
            print_error(f"Executing consumer group command failed due to {e}")
        finally:
            service.close()
        return 0

    @staticmethod
    def run(service: ConsumerGroupService, opts: ConsumerGroupCommandOptions) -> None:
        """Carry out the action; raises what went wrong."""
        if opts.has(opts.list_opt):
            for group in service.list_groups():
                print(group)
        elif opts.has(opts.describe_opt):
            service.describe_group()
        elif opts.has(opts.delete_opt):
            service.delete_groups()
        elif opts.has(opts.delete_offsets_opt):
            service.delete_offsets()
        else:
            offsets = service.reset_offsets()
            if opts.has(opts.export_opt):
                print(service.export_offsets_to_reset(offsets))
            else:
                print_offsets_to_reset(offsets, service.shows_groups)


def main(args: Sequence[str]) -> int:
    """Entry of bin/kafka-consumer-groups.py."""
    handler = logging.StreamHandler()
    handler.setFormatter(PatternLayout("[%d] %p %m (%c)%n"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    return ConsumerGroupCommand.main(args)
