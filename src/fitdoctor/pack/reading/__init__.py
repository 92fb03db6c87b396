"""Reading packs: one file per library that reads them."""
