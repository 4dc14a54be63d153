"""Mail to customers. Takes all it says from the event, and sends it at least once.

A mail that is sent twice carries the same Message-ID. `handlers.order-mail.on_crash = "ask"` (and
`shipped-mail`, `cancelled-mail`) sends none after a crash in the middle and leaves the decision to
a person. `notices.py` says which mails there are, `templates/` what they say.
"""
