"""Pictures of `FigureData`: one renderer for every figure."""
