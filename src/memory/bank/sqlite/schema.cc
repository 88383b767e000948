#include "memory/bank/sqlite/schema.h"

#include <array>

namespace windrow::memory {
namespace {

// Times are milliseconds since 1970. `type` is 0 for facts of the world, 1 for experiences, 2 for
// observations. `grams` has the words of scripts without spaces (search_terms.h). `text_key` is a
// hash of the text in which runs of white space are one space.
//
// `reworded` is the position of the first source of an observation's present text.
//
// Vectors have a table of their own, because lists and stamps need not touch them. A pass says that
// a fact was consolidated in the scope with these tags; passes stay after the stamp, so that one
// scope can be done again alone. Tag sets never change and are never removed.
constexpr auto kBankVersions = std::to_array<std::string_view>({
    R"(
PRAGMA application_id = 0x57644D62;
CREATE TABLE bank (
  one               INTEGER PRIMARY KEY CHECK (one = 1),
  id                TEXT NOT NULL,
  owner             TEXT NOT NULL,
  settings          TEXT NOT NULL,
  embedding_size    INTEGER NOT NULL,
  embedding_model   TEXT NOT NULL,
  created           INTEGER NOT NULL,
  updated           INTEGER NOT NULL,
  last_consolidated INTEGER
);
CREATE TABLE tag_sets (
  id   INTEGER PRIMARY KEY,
  tags TEXT NOT NULL UNIQUE
);
CREATE TABLE memories (
  row            INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT NOT NULL UNIQUE,
  type           INTEGER NOT NULL,
  text           TEXT NOT NULL,
  context        TEXT NOT NULL,
  grams          TEXT NOT NULL,
  text_key       INTEGER NOT NULL,
  event          INTEGER,
  occurred_start INTEGER,
  occurred_end   INTEGER,
  mentioned      INTEGER,
  tag_set        INTEGER NOT NULL REFERENCES tag_sets,
  scopes         TEXT NOT NULL,
  metadata       TEXT NOT NULL,
  entities       TEXT NOT NULL,
  document       TEXT NOT NULL,
  chunk          TEXT NOT NULL,
  created        INTEGER NOT NULL,
  updated        INTEGER NOT NULL,
  edited         INTEGER,
  consolidated   INTEGER,
  failed         INTEGER,
  failure        TEXT NOT NULL,
  invalidated    INTEGER,
  reason         TEXT NOT NULL,
  version        INTEGER NOT NULL,
  embedded       INTEGER NOT NULL,
  reworded       INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX memories_pending ON memories (row)
  WHERE consolidated IS NULL AND failed IS NULL AND invalidated IS NULL AND type < 2;
CREATE INDEX memories_failed ON memories (failed) WHERE failed IS NOT NULL;
CREATE INDEX memories_in_scope ON memories (tag_set, row) WHERE type = 2;
CREATE INDEX memories_without_embedding ON memories (row) WHERE embedded = 0;
CREATE INDEX memories_by_text ON memories (text_key) WHERE type < 2;
CREATE INDEX memories_by_mention ON memories (mentioned, created);
CREATE INDEX memories_by_document ON memories (document) WHERE document <> '';
CREATE INDEX memories_by_chunk ON memories (chunk) WHERE chunk <> '';
CREATE TABLE embeddings (
  row    INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
  vector BLOB NOT NULL
);
CREATE TABLE sources (
  observation INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
  position    INTEGER NOT NULL,
  fact        INTEGER NOT NULL REFERENCES memories,
  PRIMARY KEY (observation, position)
) WITHOUT ROWID;
CREATE UNIQUE INDEX sources_by_fact ON sources (fact, observation);
CREATE TABLE passes (
  fact    INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
  tag_set INTEGER NOT NULL REFERENCES tag_sets,
  word    TEXT NOT NULL,
  PRIMARY KEY (fact, tag_set)
) WITHOUT ROWID;
CREATE TABLE history (
  number         INTEGER PRIMARY KEY,
  observation    INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
  changed        INTEGER NOT NULL,
  text           TEXT NOT NULL,
  tag_set        INTEGER NOT NULL REFERENCES tag_sets,
  event          INTEGER,
  occurred_start INTEGER,
  occurred_end   INTEGER,
  mentioned      INTEGER,
  new_sources    TEXT NOT NULL
);
CREATE INDEX history_of ON history (observation, number);
CREATE TABLE documents (
  number   INTEGER PRIMARY KEY,
  id       TEXT NOT NULL UNIQUE,
  text     TEXT NOT NULL,
  tag_set  INTEGER NOT NULL REFERENCES tag_sets,
  context  TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created  INTEGER NOT NULL,
  updated  INTEGER NOT NULL
);
CREATE TABLE chunks (
  id       TEXT NOT NULL PRIMARY KEY,
  document TEXT NOT NULL,
  place    INTEGER NOT NULL,
  text     TEXT NOT NULL
);
CREATE INDEX chunks_of ON chunks (document, place);
CREATE TABLE operations (
  number      INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  type        TEXT NOT NULL,
  status      TEXT NOT NULL,
  payload     TEXT NOT NULL,
  result      TEXT NOT NULL,
  error       TEXT NOT NULL,
  retries     INTEGER NOT NULL,
  next_retry  INTEGER,
  created     INTEGER NOT NULL,
  updated     INTEGER NOT NULL,
  completed   INTEGER,
  worker      TEXT NOT NULL,
  lease_until INTEGER
);
CREATE INDEX operations_by_status ON operations (status, created);
CREATE INDEX operations_by_age ON operations (created);
CREATE VIRTUAL TABLE words USING fts5 (
  text, context, grams, content = 'memories', content_rowid = 'row',
  tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER memories_added AFTER INSERT ON memories BEGIN
  INSERT INTO words (rowid, text, context, grams)
    VALUES (new.row, new.text, new.context, new.grams);
END;
CREATE TRIGGER memories_removed AFTER DELETE ON memories BEGIN
  INSERT INTO words (words, rowid, text, context, grams)
    VALUES ('delete', old.row, old.text, old.context, old.grams);
END;
CREATE TRIGGER memories_reworded AFTER UPDATE OF text, context, grams ON memories
  WHEN old.text IS NOT new.text OR old.context IS NOT new.context OR old.grams IS NOT new.grams
BEGIN
  INSERT INTO words (words, rowid, text, context, grams)
    VALUES ('delete', old.row, old.text, old.context, old.grams);
  INSERT INTO words (rowid, text, context, grams)
    VALUES (new.row, new.text, new.context, new.grams);
END;
)",
});

}  // namespace

std::span<const std::string_view> bank_versions() {
  return kBankVersions;
}

}  // namespace windrow::memory
