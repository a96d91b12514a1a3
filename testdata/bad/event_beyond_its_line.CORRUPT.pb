
.	/host:CPU"Pè"MemoryAllocation