from todoke import Context

ordering = Context("ordering")
