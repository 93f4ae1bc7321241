return shut and kept
