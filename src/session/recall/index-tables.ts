// The tables of recall, none of which is the truth: each row follows from an entry, and all of them can be made again.

export const recallTables = `
  -- One row a memory. \`doc\` follows from the key (see docs.ts), so that neither way of looking needs an index of its own.
  CREATE TABLE memory_docs (
    doc INTEGER PRIMARY KEY,
    -- NULL keeps the place of a removed row that others had to step over.
    key TEXT,
    -- The beginning of the entry's digest: of which value this row speaks.
    digest BLOB,
    -- The memory without its text and its vector: what filters look at.
    facts BLOB,
    -- Whose vector it is; NULL when there is none.
    model TEXT,
    -- As quantise.ts writes it.
    vector BLOB,
    -- Milliseconds; NULL for one that stays.
    expires INTEGER
  ) STRICT;
  -- Partial, so that a memory that stays costs no row here.
  CREATE INDEX memory_docs_by_expiry ON memory_docs (expires) WHERE expires IS NOT NULL;

  -- The words are split by words.ts; what reaches this table is words with spaces between them.
  CREATE VIRTUAL TABLE memory_words USING fts5(words, content='', contentless_delete=1, tokenize='ascii');
  CREATE VIRTUAL TABLE memory_vocabulary USING fts5vocab('memory_words', 'row');
`
