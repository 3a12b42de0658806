#!/usr/bin/env python3
"""Runs the main of any class of Kafka's: kafka-run-class.py [-daemon] kafka.Kafka server.properties."""

from _launch import main

main("kafka_py.tools.run_class")
