-- +goose Up

-- One row per contract folder content that some job was created under.
CREATE TABLE contract_contents (
    digest     text PRIMARY KEY,
    name       text NOT NULL,
    content    text NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE api_keys (
    id         text PRIMARY KEY,
    owner_id   text NOT NULL,
    hash       text NOT NULL UNIQUE,
    scopes     text NOT NULL,
    created_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE INDEX api_keys_owner ON api_keys (owner_id, id);

-- Payloads and results are text: jsonb cannot hold \u0000 and exponents blow it up.
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
    version         bigint NOT NULL DEFAULT 1,
    completed_by    integer,
    result          text,
    error           text,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    completed_at    timestamptz,
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
    issued_at        timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL,
    UNIQUE (id, target)
);
CREATE INDEX certification_records_latest ON certification_records (contract, target, issued_at DESC, id DESC);

-- The current standing of a (proof digest, target): the one row that certify, revoke, suspend and expire update.
CREATE TABLE proofs (
    proof_digest     text NOT NULL,
    target           text NOT NULL,
    contract         text NOT NULL,
    certification_id text NOT NULL REFERENCES certification_records (id),
    verdict          text NOT NULL CHECK (verdict IN ('certified', 'rejected')),
    source           text NOT NULL,
    expires_at       timestamptz NOT NULL,
    revoked_at       timestamptz,
    suspended_at     timestamptz,
    updated_at       timestamptz NOT NULL,
    PRIMARY KEY (proof_digest, target)
);
CREATE INDEX proofs_by_record ON proofs (certification_id);

CREATE TABLE certification_revocations (
    certification_id text PRIMARY KEY REFERENCES certification_records (id),
    reason           text NOT NULL,
    revoked_by       text NOT NULL,
    revoked_at       timestamptz NOT NULL
);

CREATE TABLE certification_runs (
    id           text PRIMARY KEY,
    name         text NOT NULL,
    contract     text NOT NULL,
    proof_digest text NOT NULL,
    target       text NOT NULL,
    record_id    text REFERENCES certification_records (id),
    started_at   timestamptz NOT NULL,
    UNIQUE (name, proof_digest, target)
);

CREATE TABLE certification_samples (
    run_id        text NOT NULL REFERENCES certification_runs (id),
    case_name     text NOT NULL,
    sample_index  integer NOT NULL,
    claimed_by    text NOT NULL,
    claimed_until timestamptz NOT NULL,
    evidence      text,
    finished_at   timestamptz,
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
    job_version      bigint NOT NULL,
    served_model     text NOT NULL DEFAULT '',
    system_print     text NOT NULL DEFAULT '',
    usage            text,
    latency_us       bigint NOT NULL DEFAULT 0,
    heard            boolean NOT NULL DEFAULT false,
    retryable        boolean NOT NULL DEFAULT false,
    retry_at         timestamptz,
    not_before       timestamptz,
    start_by         timestamptz,
    boot_id          text NOT NULL DEFAULT '',
    lease_until      timestamptz,
    created_at       timestamptz NOT NULL,
    started_at       timestamptz,
    finished_at      timestamptz,
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
    seq      bigint NOT NULL,
    type     text NOT NULL,
    attempt  integer NOT NULL DEFAULT 0,
    detail   text NOT NULL DEFAULT '{}',
    at       timestamptz NOT NULL,
    PRIMARY KEY (owner_id, job_id, seq),
    FOREIGN KEY (owner_id, job_id) REFERENCES jobs (owner_id, id)
);

-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON events FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER certification_records_no_truncate BEFORE TRUNCATE ON certification_records FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER certification_revocations_no_truncate BEFORE TRUNCATE ON certification_revocations FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER certification_records_append_only BEFORE UPDATE OR DELETE ON certification_records FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER certification_revocations_append_only BEFORE UPDATE OR DELETE ON certification_revocations FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- An attempt starts only under an open job with attempts below the maximum, and away from the intended
-- target only with the proof that stands at this moment. The locks make both hold against concurrent writers.
-- +goose StatementBegin
CREATE FUNCTION guard_attempt_insert() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    the_job record;
BEGIN
    SELECT state, max_attempts, contract INTO the_job FROM jobs WHERE owner_id = NEW.owner_id AND id = NEW.job_id FOR UPDATE;
    IF the_job.state IN ('succeeded', 'cancelled') THEN
        RAISE EXCEPTION 'the job is final' USING ERRCODE = 'check_violation', CONSTRAINT = 'attempts_open_job';
    END IF;
    IF NEW.number > the_job.max_attempts THEN
        RAISE EXCEPTION 'the job has no attempts left' USING ERRCODE = 'check_violation', CONSTRAINT = 'attempts_below_maximum';
    END IF;
    IF NEW.target <> NEW.intended_target AND NEW.certification_id IS NOT NULL THEN
        PERFORM 1 FROM proofs
         WHERE certification_id = NEW.certification_id AND target = NEW.target AND contract = the_job.contract AND verdict = 'certified'
           AND revoked_at IS NULL AND suspended_at IS NULL AND expires_at > clock_timestamp() FOR SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no proof stands for this target' USING ERRCODE = 'check_violation', CONSTRAINT = 'attempts_proof_standing';
        END IF;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER attempts_guard_insert BEFORE INSERT ON attempts FOR EACH ROW EXECUTE FUNCTION guard_attempt_insert();

-- completed_by is written once, and an intent never changes.
-- +goose StatementBegin
CREATE FUNCTION guard_winner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.completed_by IS NOT NULL AND (NEW.completed_by IS DISTINCT FROM OLD.completed_by OR NEW.result IS DISTINCT FROM OLD.result) THEN
        RAISE EXCEPTION 'the job has its winner' USING ERRCODE = 'check_violation', CONSTRAINT = 'jobs_one_winner';
    END IF;
    IF (NEW.owner_id, NEW.id, NEW.idempotency_key, NEW.fingerprint, NEW.contract, NEW.contract_digest, NEW.input, NEW.sent_target, NEW.intended_target)
       IS DISTINCT FROM
       (OLD.owner_id, OLD.id, OLD.idempotency_key, OLD.fingerprint, OLD.contract, OLD.contract_digest, OLD.input, OLD.sent_target, OLD.intended_target) THEN
        RAISE EXCEPTION 'an intent is immutable' USING ERRCODE = 'check_violation', CONSTRAINT = 'jobs_intent_immutable';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER jobs_guard_winner BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION guard_winner();
