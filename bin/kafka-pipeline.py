#!/usr/bin/env python3
"""Runs a Spark pipeline over a topic: parse, sum up by windows, write Parquet and a topic; --demo shows all of it."""

from _launch import main

main("kafka_py.spark.pipeline")
