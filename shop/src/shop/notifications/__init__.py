"""Mail to customers. Takes all it says from the event, and sends it at least once.

A mail that is sent twice carries the same Message-ID. `handlers.order-mail.on_crash = "ask"`
sends none after a crash in the middle and leaves the decision to a person.
"""
