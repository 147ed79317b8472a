-- +goose Up

-- A purged job is a tombstone: its key, fingerprint, id and final state stay for ever, so that its intent
-- never becomes a second job; input, result, error, metadata, plan, attempts and events are gone. What it
-- was created under stays in contract_contents: the content is kept once for all jobs of a digest, replicas
-- remember that they stored it, and the same digest may be wanted again at any moment.
ALTER TABLE jobs ADD COLUMN purged_at timestamptz;
CREATE INDEX jobs_purgeable ON jobs (updated_at) WHERE purged_at IS NULL AND state IN ('succeeded', 'failed', 'cancelled');

-- completed_by is written once, an intent never changes, and only a purge empties a job: of a closed one,
-- of which nothing more is heard, once.
-- +goose StatementBegin
CREATE FUNCTION guard_purge(was jobs, now jobs) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF was.state NOT IN ('succeeded', 'failed', 'cancelled') OR EXISTS (
        SELECT 1 FROM attempts WHERE owner_id = was.owner_id AND job_id = was.id AND (state IN ('starting', 'running', 'unknown')
           OR lease_until IS NOT NULL OR (state = 'released' AND (heard OR due_step <> '')))) THEN
        RAISE EXCEPTION 'the job may still move' USING ERRCODE = 'check_violation', CONSTRAINT = 'jobs_purge_closed';
    END IF;
    IF (now.state, now.version, now.completed_by, now.max_attempts, now.created_at, now.completed_at)
       IS DISTINCT FROM (was.state, was.version + 1, was.completed_by, was.max_attempts, was.created_at, was.completed_at)
       OR now.input <> '' OR now.metadata <> '' OR now.plan <> '{}' OR now.error IS NOT NULL OR COALESCE(now.result, '') <> '' THEN
        RAISE EXCEPTION 'a purge leaves a tombstone' USING ERRCODE = 'check_violation', CONSTRAINT = 'jobs_purge_tombstone';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION guard_winner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.purged_at IS NOT NULL THEN
        RAISE EXCEPTION 'a purged job never changes' USING ERRCODE = 'check_violation', CONSTRAINT = 'jobs_purged';
    END IF;
    IF OLD.completed_by IS NOT NULL AND NEW.completed_by IS DISTINCT FROM OLD.completed_by THEN
        RAISE EXCEPTION 'the job has its winner' USING ERRCODE = 'check_violation', CONSTRAINT = 'jobs_one_winner';
    END IF;
    IF (NEW.owner_id, NEW.id, NEW.idempotency_key, NEW.fingerprint, NEW.contract, NEW.contract_digest, NEW.sent_target, NEW.intended_target)
       IS DISTINCT FROM
       (OLD.owner_id, OLD.id, OLD.idempotency_key, OLD.fingerprint, OLD.contract, OLD.contract_digest, OLD.sent_target, OLD.intended_target) THEN
        RAISE EXCEPTION 'an intent is immutable' USING ERRCODE = 'check_violation', CONSTRAINT = 'jobs_intent_immutable';
    END IF;
    IF NEW.purged_at IS NOT NULL THEN
        PERFORM guard_purge(OLD, NEW);
        RETURN NEW;
    END IF;
    IF OLD.completed_by IS NOT NULL AND NEW.result IS DISTINCT FROM OLD.result THEN
        RAISE EXCEPTION 'the job has its winner' USING ERRCODE = 'check_violation', CONSTRAINT = 'jobs_one_winner';
    END IF;
    IF NEW.input IS DISTINCT FROM OLD.input THEN
        RAISE EXCEPTION 'an intent is immutable' USING ERRCODE = 'check_violation', CONSTRAINT = 'jobs_intent_immutable';
    END IF;
    RETURN NEW;
END $$;

-- What belongs to a job is deleted only when the job was purged, and a job never is.
CREATE FUNCTION guard_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM jobs WHERE owner_id = OLD.owner_id AND id = OLD.job_id AND purged_at IS NOT NULL) THEN
        RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN OLD;
END $$;
-- +goose StatementEnd
DROP TRIGGER events_append_only ON events;
CREATE TRIGGER events_append_only BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER events_guard_delete BEFORE DELETE ON events FOR EACH ROW EXECUTE FUNCTION guard_delete();
CREATE TRIGGER attempts_guard_delete BEFORE DELETE ON attempts FOR EACH ROW EXECUTE FUNCTION guard_delete();
CREATE TRIGGER attempts_no_truncate BEFORE TRUNCATE ON attempts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER jobs_no_delete BEFORE DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER jobs_no_truncate BEFORE TRUNCATE ON jobs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A tombstone takes no attempt either.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION guard_attempt_insert() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    the_job record;
BEGIN
    SELECT state, max_attempts, contract, purged_at INTO the_job FROM jobs WHERE owner_id = NEW.owner_id AND id = NEW.job_id FOR UPDATE;
    IF the_job.state IN ('succeeded', 'cancelled') OR the_job.purged_at IS NOT NULL THEN
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
