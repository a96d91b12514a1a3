"""A dry run: a program's GPU memory, without the GPU and without computing."""
