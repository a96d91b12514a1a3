
.	/host:CPU"è"MemoryAllocation