"""Dry runs, which predict how much GPU memory a program uses, without a GPU and without computing anything."""
