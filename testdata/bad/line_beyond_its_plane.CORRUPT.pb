
.	/host:CPUp"è"MemoryAllocation