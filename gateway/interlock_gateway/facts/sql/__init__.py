"""What SQL would do, as data: comments and quotes told apart as each database does, structure by sqlglot (PIPE-5)."""
