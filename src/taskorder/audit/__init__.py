"""How much of a published accuracy is the task order, how much the seed, and what a fair comparison needs."""
