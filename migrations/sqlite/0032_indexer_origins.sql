-- Indexers that were taken over from an aggregator.

-- Where it was taken over from: the aggregator's kind, its id there, and what it is. NULL: people made it.
ALTER TABLE indexers ADD COLUMN origin TEXT;
-- JSON: the values that the aggregator gave last. A field that differs is its owner's, and left alone.
ALTER TABLE indexers ADD COLUMN imported TEXT;

CREATE UNIQUE INDEX indexers_origin ON indexers (origin);
