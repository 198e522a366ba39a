"""What is special about CPUs: forms of ops that run faster, fences, the choice of libraries."""
