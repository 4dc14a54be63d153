"""Stock: how much of each product is free, reserved and shipped; never more than there is.

A reservation is TENTATIVE from the moment an order is placed until it expires, COMMITTED once the
order is confirmed, SHIPPED when the parcel has left, CANCELLED with its order. `total = free +
reserved + shipped` is a constraint of the table, so no statement can break it. Hears of orders by
ordering's messages alone.
"""
