
.	/host:CPU"è"nothinAllocation