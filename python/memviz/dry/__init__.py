"""A dry run: predicts a program's GPU memory, without a GPU and without computing anything."""
