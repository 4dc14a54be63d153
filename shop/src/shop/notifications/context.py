from todoke import Context

notifications = Context("notifications", modules=["handlers"])
