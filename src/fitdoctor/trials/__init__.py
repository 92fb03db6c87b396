"""Settings that only a fresh process can try: the same script again, changed in one thing."""
