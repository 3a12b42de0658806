"""Exceptions as Java prints them: what a tool shows of an error that is no fault of its own.

Ours; stands in for java.lang.Throwable's toString and printStackTrace. Java's frames are left away for errors that are
raised on purpose, as Kafka itself leaves them away for every ApiException: the user has misspelt a topic, and a page of
our lines does not tell him so. Of anything else the stack is what one needs, and it is Python's.
"""

from __future__ import annotations

import sys
import traceback

from kafka_py.common import errors
from kafka_py.utils.concurrent_locks import InterruptedException

# where Kafka and Java have the classes that are not org.apache.kafka.common.errors'; by name, then by our module
_CLASSES = {
    "AdminOperationException": "kafka.admin",
    "ConfigException": "org.apache.kafka.common.config",
    "ExecutionException": "java.util.concurrent",
    "IllegalArgumentException": "java.lang",
    "KafkaException": "org.apache.kafka.common",
    "OptionException": "joptsimple",
    "RuntimeException": "java.lang",
    "JsonProcessingException": "com.fasterxml.jackson.core",
}
_MODULES = {
    "kafka_py.zookeeper.keeper_exception": "org.apache.zookeeper.KeeperException$",
    "kafka_py.zookeeper.zoo_keeper_client": "kafka.zookeeper.",
    "kafka_py.common.errors": "kafka.common.",
}
# states that should be impossible
_UNEXPECTED = (errors.IllegalStateException, errors.UnsupportedOperationException, InterruptedException)


def is_expected(e: BaseException) -> bool:
    """Whether it was raised on purpose: by a class of Kafka's that we mirror, by librdkafka, by the system."""
    if isinstance(e, _UNEXPECTED):
        return False
    return isinstance(e, OSError) or type(e).__module__.split(".")[0] in ("kafka_py", "cimpl")


def class_name(e: BaseException) -> str:
    """`org.apache.kafka.common.errors.TopicExistsException`; the name alone for a class of Python's own."""
    cls = type(e)
    if cls.__name__ in _CLASSES and cls.__module__.startswith("kafka_py."):
        return f"{_CLASSES[cls.__name__]}.{cls.__name__}"
    if isinstance(e, errors.ApiException):
        return f"org.apache.kafka.common.errors.{cls.__name__}"
    return _MODULES.get(cls.__module__, "") + cls.__name__


def to_string(e: BaseException) -> str:
    """The class and the message, if there is one."""
    message = str(e)
    return f"{class_name(e)}: {message}" if message else class_name(e)


def stack_trace(e: BaseException) -> str:
    """What printStackTrace writes: a line, one for each cause, and the stack of what nobody expected."""
    if not is_expected(e):
        return "".join(traceback.format_exception(e))
    text = f"{to_string(e)}\n"
    for suppressed in getattr(e, "suppressed", ()):
        text += f"\tSuppressed: {stack_trace(suppressed)}"
    return text if e.__cause__ is None else f"{text}Caused by: {stack_trace(e.__cause__)}"


def print_uncaught(e: BaseException) -> None:
    """What the JVM writes when the main of a class ends by an exception."""
    print(f'Exception in thread "main" {stack_trace(e)}', end="", file=sys.stderr)
