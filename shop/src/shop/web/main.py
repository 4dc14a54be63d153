"""What `uvicorn shop.web.main:web` serves."""

from shop.app import app
from shop.web import create_web

web = create_web(app)
