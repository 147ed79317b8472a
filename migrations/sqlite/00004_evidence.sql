-- +goose Up

-- The evidence of a run, beside its record and written with it: a compressed document whose digest the
-- record names.
CREATE TABLE certification_artifacts (
    certification_id text PRIMARY KEY REFERENCES certification_records (id),
    content          blob NOT NULL,
    digest           text NOT NULL,
    bytes            integer NOT NULL,
    samples          integer NOT NULL
);
-- +goose StatementBegin
CREATE TRIGGER certification_artifacts_no_update BEFORE UPDATE ON certification_artifacts BEGIN SELECT RAISE(ABORT, 'certification_artifacts is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER certification_artifacts_no_delete BEFORE DELETE ON certification_artifacts BEGIN SELECT RAISE(ABORT, 'certification_artifacts is append-only'); END;
-- +goose StatementEnd
