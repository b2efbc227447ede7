"""Parquet in, Parquet out: `make.make_store` and `write.SourceWriter` fill a store, `read.open_store` reads it."""
