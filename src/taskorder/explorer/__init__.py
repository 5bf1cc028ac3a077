"""A local web page to drag tasks into an order and watch what is known in the end: `taskorder explore`."""
