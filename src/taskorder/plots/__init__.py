"""Pictures of panels with series and maps: the records, and one renderer for all of them."""
