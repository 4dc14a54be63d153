from todoke import Context

audit = Context("audit", modules=["handlers"])
