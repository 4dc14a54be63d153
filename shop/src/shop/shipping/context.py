from todoke import Context

shipping = Context("shipping", modules=["create_shipment", "export_shipment_file", "sftp_put"])
