#!/usr/bin/env python3
"""Asks log directories (or brokers) in SQL: records, batches, files, groups."""

from _launch import main

main("kafka_py.spark.segments_sql")
