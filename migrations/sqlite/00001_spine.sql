-- +goose Up

-- Times are ISO 8601 text in UTC with six digits of a second, so that they sort as they run.

-- One row per contract folder content that some job was created under.
CREATE TABLE contract_contents (
    digest     text PRIMARY KEY,
    name       text NOT NULL,
    content    text NOT NULL,
    created_at text NOT NULL
);

CREATE TABLE api_keys (
    id         text PRIMARY KEY,
    owner_id   text NOT NULL,
    hash       text NOT NULL UNIQUE,
    scopes     text NOT NULL,
    created_at text NOT NULL,
    revoked_at text
);
CREATE INDEX api_keys_owner ON api_keys (owner_id, id);

CREATE TABLE jobs (
    owner_id        text NOT NULL,
    id              text NOT NULL,
    idempotency_key text NOT NULL,
    fingerprint     text NOT NULL,
    contract        text NOT NULL,
    contract_digest text NOT NULL REFERENCES contract_contents (digest),
    input           text NOT NULL,
    sent_target     text NOT NULL DEFAULT '',
    intended_target text NOT NULL,
    metadata        text NOT NULL DEFAULT '',
    plan            text NOT NULL,
    max_attempts    integer NOT NULL CHECK (max_attempts >= 1),
    state           text NOT NULL CHECK (state IN ('pending', 'running', 'unknown', 'succeeded', 'failed', 'cancelled')),
    version         integer NOT NULL DEFAULT 1,
    completed_by    integer,
    result          text,
    error           text,
    created_at      text NOT NULL,
    updated_at      text NOT NULL,
    completed_at    text,
    PRIMARY KEY (owner_id, id),
    UNIQUE (owner_id, idempotency_key),
    UNIQUE (owner_id, id, intended_target),
    CHECK ((state = 'succeeded') = (completed_by IS NOT NULL)),
    CHECK ((completed_by IS NULL) = (result IS NULL))
);
CREATE INDEX jobs_by_state ON jobs (owner_id, state, id);

CREATE TABLE certification_records (
    id               text PRIMARY KEY,
    run_id           text NOT NULL UNIQUE,
    contract         text NOT NULL,
    target           text NOT NULL,
    proof_digest     text NOT NULL,
    effective_digest text NOT NULL,
    profile_digest   text NOT NULL,
    verdict          text NOT NULL CHECK (verdict IN ('certified', 'rejected', 'inconclusive')),
    source           text NOT NULL CHECK (source IN ('live', 'replay', 'simulated')),
    document         text NOT NULL,
    issued_at        text NOT NULL,
    expires_at       text NOT NULL,
    UNIQUE (id, target)
);
CREATE INDEX certification_records_latest ON certification_records (contract, target, issued_at, id);

-- The current standing of a (proof digest, target): the one row that certify, revoke, suspend and expire update.
CREATE TABLE proofs (
    proof_digest     text NOT NULL,
    target           text NOT NULL,
    contract         text NOT NULL,
    certification_id text NOT NULL REFERENCES certification_records (id),
    verdict          text NOT NULL CHECK (verdict IN ('certified', 'rejected')),
    source           text NOT NULL,
    expires_at       text NOT NULL,
    revoked_at       text,
    suspended_at     text,
    updated_at       text NOT NULL,
    PRIMARY KEY (proof_digest, target)
);
CREATE INDEX proofs_by_record ON proofs (certification_id);

CREATE TABLE certification_revocations (
    certification_id text PRIMARY KEY REFERENCES certification_records (id),
    reason           text NOT NULL,
    revoked_by       text NOT NULL,
    revoked_at       text NOT NULL
);

CREATE TABLE certification_runs (
    id           text PRIMARY KEY,
    name         text NOT NULL,
    contract     text NOT NULL,
    proof_digest text NOT NULL,
    target       text NOT NULL,
    record_id    text REFERENCES certification_records (id),
    started_at   text NOT NULL,
    UNIQUE (name, proof_digest, target)
);

CREATE TABLE certification_samples (
    run_id        text NOT NULL REFERENCES certification_runs (id),
    case_name     text NOT NULL,
    sample_index  integer NOT NULL,
    claimed_by    text NOT NULL,
    claimed_until text NOT NULL,
    evidence      text,
    finished_at   text,
    PRIMARY KEY (run_id, case_name, sample_index)
);

CREATE TABLE attempts (
    owner_id         text NOT NULL,
    job_id           text NOT NULL,
    number           integer NOT NULL CHECK (number >= 1),
    id               text NOT NULL UNIQUE,
    idempotency_key  text NOT NULL,
    fingerprint      text NOT NULL DEFAULT '',
    role             text NOT NULL CHECK (role IN ('primary', 'retry', 'fallback', 'manual')),
    target           text NOT NULL,
    intended_target  text NOT NULL,
    certification_id text,
    state            text NOT NULL CHECK (state IN ('starting', 'running', 'unknown', 'released', 'succeeded', 'failed', 'cancelled', 'superseded')),
    reason           text NOT NULL DEFAULT '',
    detail           text NOT NULL DEFAULT '',
    sends            integer NOT NULL DEFAULT 0,
    job_version      integer NOT NULL,
    served_model     text NOT NULL DEFAULT '',
    system_print     text NOT NULL DEFAULT '',
    usage            text,
    latency_us       integer NOT NULL DEFAULT 0,
    heard            integer NOT NULL DEFAULT 0,
    retryable        integer NOT NULL DEFAULT 0,
    retry_at         text,
    not_before       text,
    start_by         text,
    boot_id          text NOT NULL DEFAULT '',
    lease_until      text,
    created_at       text NOT NULL,
    started_at       text,
    finished_at      text,
    PRIMARY KEY (owner_id, job_id, number),
    UNIQUE (owner_id, job_id, idempotency_key),
    FOREIGN KEY (owner_id, job_id, intended_target) REFERENCES jobs (owner_id, id, intended_target),
    FOREIGN KEY (certification_id, target) REFERENCES certification_records (id, target),
    CONSTRAINT attempts_proof_required CHECK (target = intended_target OR certification_id IS NOT NULL),
    CHECK (state NOT IN ('unknown', 'failed') OR reason <> '')
);
CREATE UNIQUE INDEX attempts_one_blocking ON attempts (owner_id, job_id) WHERE state IN ('starting', 'running', 'unknown');
CREATE UNIQUE INDEX attempts_one_winner ON attempts (owner_id, job_id) WHERE state = 'succeeded';
CREATE INDEX attempts_leases ON attempts (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX attempts_waiting ON attempts (start_by) WHERE state = 'starting';

CREATE TABLE events (
    owner_id text NOT NULL,
    job_id   text NOT NULL,
    seq      integer NOT NULL,
    type     text NOT NULL,
    attempt  integer NOT NULL DEFAULT 0,
    detail   text NOT NULL DEFAULT '{}',
    at       text NOT NULL,
    PRIMARY KEY (owner_id, job_id, seq),
    FOREIGN KEY (owner_id, job_id) REFERENCES jobs (owner_id, id)
);

-- +goose StatementBegin
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER certification_records_no_update BEFORE UPDATE ON certification_records BEGIN SELECT RAISE(ABORT, 'certification_records is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER certification_records_no_delete BEFORE DELETE ON certification_records BEGIN SELECT RAISE(ABORT, 'certification_records is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER certification_revocations_no_update BEFORE UPDATE ON certification_revocations BEGIN SELECT RAISE(ABORT, 'certification_revocations is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER certification_revocations_no_delete BEFORE DELETE ON certification_revocations BEGIN SELECT RAISE(ABORT, 'certification_revocations is append-only'); END;
-- +goose StatementEnd

-- An attempt starts only under an open job with attempts below the maximum, and away from the intended
-- target only with the proof that stands at this moment. SQLite has one writer: nothing can come between.
-- +goose StatementBegin
CREATE TRIGGER attempts_guard_insert BEFORE INSERT ON attempts BEGIN
    SELECT RAISE(ABORT, 'attempts_open_job: the job is final')
     WHERE EXISTS (SELECT 1 FROM jobs WHERE owner_id = NEW.owner_id AND id = NEW.job_id AND state IN ('succeeded', 'cancelled'));
    SELECT RAISE(ABORT, 'attempts_below_maximum: the job has no attempts left')
     WHERE EXISTS (SELECT 1 FROM jobs WHERE owner_id = NEW.owner_id AND id = NEW.job_id AND NEW.number > max_attempts);
    SELECT RAISE(ABORT, 'attempts_proof_standing: no proof stands for this target')
     WHERE NEW.target <> NEW.intended_target AND NEW.certification_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM proofs
         WHERE certification_id = NEW.certification_id AND target = NEW.target AND verdict = 'certified'
           AND contract = (SELECT contract FROM jobs WHERE owner_id = NEW.owner_id AND id = NEW.job_id)
           AND revoked_at IS NULL AND suspended_at IS NULL AND expires_at > strftime('%Y-%m-%dT%H:%M:%f000Z', 'now'));
END;
-- +goose StatementEnd

-- completed_by is written once.
-- +goose StatementBegin
CREATE TRIGGER jobs_guard_winner BEFORE UPDATE ON jobs
WHEN OLD.completed_by IS NOT NULL AND (NEW.completed_by IS NOT OLD.completed_by OR NEW.result IS NOT OLD.result) BEGIN
    SELECT RAISE(ABORT, 'jobs_one_winner: the job has its winner');
END;
-- +goose StatementEnd

-- An intent never changes.
-- +goose StatementBegin
CREATE TRIGGER jobs_guard_intent BEFORE UPDATE OF owner_id, id, idempotency_key, fingerprint, contract, contract_digest, input, sent_target, intended_target ON jobs BEGIN
    SELECT RAISE(ABORT, 'jobs_intent_immutable: an intent is immutable');
END;
-- +goose StatementEnd
