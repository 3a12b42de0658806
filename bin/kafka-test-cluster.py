#!/usr/bin/env python3
"""Starts and breaks a cluster for a program in any language: a line of JSON in, a line of JSON out."""

from _launch import main

main("kafka_py.testing.cluster_command")
