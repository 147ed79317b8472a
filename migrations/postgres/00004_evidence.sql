-- +goose Up

-- The evidence of a run, beside its record and written with it: a compressed document whose digest the
-- record names.
CREATE TABLE certification_artifacts (
    certification_id text PRIMARY KEY REFERENCES certification_records (id),
    content          bytea NOT NULL,
    digest           text NOT NULL,
    bytes            bigint NOT NULL,
    samples          integer NOT NULL
);
CREATE TRIGGER certification_artifacts_append_only BEFORE UPDATE OR DELETE ON certification_artifacts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER certification_artifacts_no_truncate BEFORE TRUNCATE ON certification_artifacts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
