"""Fields that several schemas share.

Mirrors: clients/src/main/java/org/apache/kafka/common/protocol/CommonFields.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.protocol.types.field import Field

THROTTLE_TIME_MS = Field.Int32("throttle_time_ms", "How long a quota held the request back, in ms; 0 if none did", 0)
TOPIC_NAME = Field.Str("topic", "The topic's name")
PARTITION_ID = Field.Int32("partition", "The partition's number")
ERROR_CODE = Field.Int16("error_code", "The error, 0 for none")
ERROR_MESSAGE = Field.NullableStr("error_message", "The error in words")
LEADER_EPOCH = Field.Int32("leader_epoch", "The leader's epoch")
CURRENT_LEADER_EPOCH = Field.Int32(
    "current_leader_epoch", "The leader epoch the client believes in, -1 if it does not say", -1
)

# Groups
GROUP_ID = Field.Str("group_id", "The group's id")
GENERATION_ID = Field.Int32("generation_id", "The generation of the group")
MEMBER_ID = Field.Str("member_id", "The id the coordinator gave the member, empty when it first joins")

# Transactions
TRANSACTIONAL_ID = Field.Str("transactional_id", "The transactional id")
NULLABLE_TRANSACTIONAL_ID = Field.NullableStr("transactional_id", "The transactional id, null without transactions")
PRODUCER_ID = Field.Int64("producer_id", "The producer id that the transactional id has now")
PRODUCER_EPOCH = Field.Int16("producer_epoch", "The epoch of the producer id")

# ACLs
RESOURCE_TYPE = Field.Int8("resource_type", "What kind of resource")
RESOURCE_NAME = Field.Str("resource_name", "The resource's name")
RESOURCE_NAME_FILTER = Field.NullableStr("resource_name", "The resource's name, null for any")
PRINCIPAL = Field.Str("principal", "The principal of the ACL")
PRINCIPAL_FILTER = Field.NullableStr("principal", "The principal, null for any")
HOST = Field.Str("host", "The host of the ACL")
HOST_FILTER = Field.NullableStr("host", "The host, null for any")
OPERATION = Field.Int8("operation", "The operation of the ACL")
PERMISSION_TYPE = Field.Int8("permission_type", "Whether the ACL allows or denies")

# Delegation tokens
PRINCIPAL_TYPE = Field.Str("principal_type", "The principal's type")
PRINCIPAL_NAME = Field.Str("name", "The principal's name")
