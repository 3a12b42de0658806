"""Commits an offset in the name of a member that is none any more, or in a generation that is over.

    python -m kafka_py.labs.late_commit BROKERS GROUP TOPIC MEMBER_ID GENERATION

Ours, no original. Clients' own consumers know better than to do this; one that was away for too long does not know.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_py.admin.consumer_groups_client import ConsumerGroupsClient
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.offset_commit_request import OffsetCommitRequest
from kafka_py.common.requests.offset_commit_response import OffsetCommitResponse


def commit(servers: str, group: str, topic: str, member: str, generation: int) -> Errors:
    """Commit offset 0 of partition 0 as this member; what the coordinator answers. Raises KafkaException, OSError."""
    of_partition = OffsetCommitRequest.Topic.Partition(partition=0, offset=0, metadata="")
    request = OffsetCommitRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        topics=[OffsetCommitRequest.Topic(topic=topic, partitions=[of_partition])],
    )
    client = ConsumerGroupsClient.create(servers)
    try:
        builder = OffsetCommitRequest.Builder(request, 2, request.API_KEY.latest_version())
        response = client.send(client.find_coordinator(group), builder)
    finally:
        client.close()
    assert isinstance(response, OffsetCommitResponse)
    return response.responses[0].partition_responses[0].error


def main(args: Sequence[str]) -> int:
    """Print the name of the error, NONE when the commit was taken; 0 in either case."""
    if len(args) != 5 or not args[4].lstrip("-").isdecimal():
        print("usage: MEMBER_ID GENERATION", file=sys.stderr)
        return 2
    servers, group, topic, member, generation = args
    print(commit(servers, group, topic, member, int(generation)).name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
