"""Orders to a broker: taken once per key, sent until the broker has answered for certain.

`model` is the order as it is asked for and kept, `adapter` what a broker looks like from here,
`http_adapter` one that speaks HTTP; `handlers` sends. Other contexts see `messages` only.
"""
