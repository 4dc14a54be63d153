from todoke import Context

inventory = Context("inventory", modules=["handlers", "jobs"])
