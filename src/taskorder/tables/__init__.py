"""Tables from and to files: the one reader of separated text, JSON, NPY and NPZ; from losses to similarity."""
