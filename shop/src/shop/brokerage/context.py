from todoke import Context

brokerage = Context("brokerage", modules=["handlers"])
