"""A local web page to drag tasks into an order and watch the predicted error: `taskorder explore`."""
