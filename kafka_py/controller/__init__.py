"""The controller: one broker of the cluster decides who leads which partition and tells the others.

Read in this order: controller_event_manager (one thread, one queue), controller_context (what the controller
knows), kafka_controller (election, failover, handlers), the two state machines, controller_channel_manager (how the
decisions reach the brokers), topic_deletion_manager.
"""
