"""What the command's tools do, as functions: their options are keyword arguments of the same names."""
