
.	/host:CPU"è"MemoryAllocat