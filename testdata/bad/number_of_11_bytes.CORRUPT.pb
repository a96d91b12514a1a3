
5	/host:CPU"ÿÿÿÿÿÿÿÿÿÿ"MemoryAllocation