"""Skills, queries and judgements as data: reading them, importing them, and serving them to models."""
