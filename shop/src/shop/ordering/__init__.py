"""Orders: placed by customers, confirmed and shipped by staff.

Other contexts see `messages` only. `model` holds the rules and knows nothing of storage, `table`
keeps it, `orders` holds the verbs; each verb works in the caller's transaction.
"""
