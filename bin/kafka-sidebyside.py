#!/usr/bin/env python3
"""Makes a local site of Kafka's source and ours, side by side, from your clone of apache/kafka."""

from _launch import main

main("kafka_py.sidebyside.side_by_side")
