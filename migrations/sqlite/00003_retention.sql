-- +goose Up

-- A purged job is a tombstone: its key, fingerprint, id and final state stay for ever, so that its intent
-- never becomes a second job; input, result, error, metadata, plan, attempts and events are gone. What it
-- was created under stays in contract_contents: the content is kept once for all jobs of a digest, replicas
-- remember that they stored it, and the same digest may be wanted again at any moment.
ALTER TABLE jobs ADD COLUMN purged_at text;
CREATE INDEX jobs_purgeable ON jobs (updated_at) WHERE purged_at IS NULL AND state IN ('succeeded', 'failed', 'cancelled');

DROP TRIGGER jobs_guard_winner;
DROP TRIGGER jobs_guard_intent;
DROP TRIGGER events_no_delete;
DROP TRIGGER attempts_guard_insert;

-- completed_by is written once, and so is the result; a purge alone empties it.
-- +goose StatementBegin
CREATE TRIGGER jobs_guard_winner BEFORE UPDATE ON jobs
WHEN OLD.completed_by IS NOT NULL AND (NEW.completed_by IS NOT OLD.completed_by OR (NEW.result IS NOT OLD.result AND NEW.purged_at IS NULL)) BEGIN
    SELECT RAISE(ABORT, 'jobs_one_winner: the job has its winner');
END;
-- +goose StatementEnd

-- An intent never changes; a purge alone empties its input.
-- +goose StatementBegin
CREATE TRIGGER jobs_guard_intent BEFORE UPDATE OF owner_id, id, idempotency_key, fingerprint, contract, contract_digest, sent_target, intended_target ON jobs BEGIN
    SELECT RAISE(ABORT, 'jobs_intent_immutable: an intent is immutable');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER jobs_guard_input BEFORE UPDATE OF input ON jobs WHEN NEW.purged_at IS NULL BEGIN
    SELECT RAISE(ABORT, 'jobs_intent_immutable: an intent is immutable');
END;
-- +goose StatementEnd

-- Only a closed job is purged, of which nothing more is heard; once.
-- +goose StatementBegin
CREATE TRIGGER jobs_guard_purge BEFORE UPDATE ON jobs WHEN OLD.purged_at IS NULL AND NEW.purged_at IS NOT NULL BEGIN
    SELECT RAISE(ABORT, 'jobs_purge_closed: the job may still move')
     WHERE OLD.state NOT IN ('succeeded', 'failed', 'cancelled') OR EXISTS (
        SELECT 1 FROM attempts WHERE owner_id = OLD.owner_id AND job_id = OLD.id AND (state IN ('starting', 'running', 'unknown')
           OR lease_until IS NOT NULL OR (state = 'released' AND (heard OR due_step <> ''))));
    SELECT RAISE(ABORT, 'jobs_purge_tombstone: a purge leaves a tombstone')
     WHERE NEW.state <> OLD.state OR NEW.version <> OLD.version + 1 OR NEW.max_attempts <> OLD.max_attempts
        OR NEW.created_at <> OLD.created_at OR NEW.completed_at IS NOT OLD.completed_at
        OR NEW.input <> '' OR NEW.metadata <> '' OR NEW.plan <> '{}' OR NEW.error IS NOT NULL OR COALESCE(NEW.result, '') <> '';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER jobs_guard_tombstone BEFORE UPDATE ON jobs WHEN OLD.purged_at IS NOT NULL BEGIN
    SELECT RAISE(ABORT, 'jobs_purged: a purged job never changes');
END;
-- +goose StatementEnd

-- What belongs to a job is deleted only when the job was purged, and a job never is.
-- +goose StatementBegin
CREATE TRIGGER events_guard_delete BEFORE DELETE ON events
WHEN NOT EXISTS (SELECT 1 FROM jobs WHERE owner_id = OLD.owner_id AND id = OLD.job_id AND purged_at IS NOT NULL) BEGIN
    SELECT RAISE(ABORT, 'events is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER attempts_guard_delete BEFORE DELETE ON attempts
WHEN NOT EXISTS (SELECT 1 FROM jobs WHERE owner_id = OLD.owner_id AND id = OLD.job_id AND purged_at IS NOT NULL) BEGIN
    SELECT RAISE(ABORT, 'attempts is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER jobs_no_delete BEFORE DELETE ON jobs BEGIN SELECT RAISE(ABORT, 'jobs is append-only'); END;
-- +goose StatementEnd

-- A tombstone takes no attempt either.
-- +goose StatementBegin
CREATE TRIGGER attempts_guard_insert BEFORE INSERT ON attempts BEGIN
    SELECT RAISE(ABORT, 'attempts_open_job: the job is final')
     WHERE EXISTS (SELECT 1 FROM jobs WHERE owner_id = NEW.owner_id AND id = NEW.job_id AND (state IN ('succeeded', 'cancelled') OR purged_at IS NOT NULL));
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
