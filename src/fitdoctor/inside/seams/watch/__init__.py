"""Patches that the ledger needs: each replaces one function and puts it back."""
