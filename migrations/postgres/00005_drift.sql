-- +goose Up

-- How live answers of a certified target met its contract, one row for each answer that was judged: the
-- sliding window that every replica counts in. Only what the window may still reach is kept.
CREATE TABLE certification_outcomes (
    certification_id text NOT NULL REFERENCES certification_records (id),
    at               timestamptz NOT NULL,
    attempt_id       text NOT NULL,
    owner_id         text NOT NULL,
    job_id           text NOT NULL,
    number           integer NOT NULL,
    violated         integer NOT NULL CHECK (violated IN (0, 1)),
    PRIMARY KEY (certification_id, at, attempt_id)
);

-- What happened to a record after it was issued. Each kind happens to a record at most once.
CREATE TABLE certification_events (
    certification_id text NOT NULL REFERENCES certification_records (id),
    type             text NOT NULL CHECK (type IN ('suspended', 'fingerprint_changed', 'recertification_requested', 'expiring', 'expired', 'revoked', 'displaced')),
    cause            text NOT NULL DEFAULT '',
    detail           text NOT NULL DEFAULT '',
    caused_by        text NOT NULL DEFAULT '',
    grounds          text NOT NULL DEFAULT '',
    at               timestamptz NOT NULL,
    PRIMARY KEY (certification_id, type)
);
CREATE TRIGGER certification_events_append_only BEFORE UPDATE OR DELETE ON certification_events FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER certification_events_no_truncate BEFORE TRUNCATE ON certification_events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A wish for a new record of a proof, open until one is judged.
CREATE TABLE certification_requests (
    certification_id text PRIMARY KEY REFERENCES certification_records (id),
    proof_digest     text NOT NULL,
    target           text NOT NULL,
    contract         text NOT NULL,
    cause            text NOT NULL,
    requested_at     timestamptz NOT NULL,
    closed_at        timestamptz,
    closed_by        text REFERENCES certification_records (id),
    CHECK ((closed_at IS NULL) = (closed_by IS NULL))
);
CREATE UNIQUE INDEX certification_requests_open ON certification_requests (proof_digest, target) WHERE closed_at IS NULL;
