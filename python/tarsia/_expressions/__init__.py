"""Functions of one line of C++: what stands behind tarsia.elementwise and tarsia.reduction."""
