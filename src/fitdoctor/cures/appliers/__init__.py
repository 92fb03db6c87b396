"""How each kind of edit changes the text; every module here is found by itself."""
