#!/usr/bin/env python3
"""Print the contents of segment files, as Kafka's kafka-run-class.sh kafka.tools.DumpLogSegments does."""

from _launch import main

main("kafka_py.tools.dump_log_segments")
