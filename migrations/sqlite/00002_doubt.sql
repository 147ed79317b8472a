-- +goose Up

-- What a request left behind that helps to end the doubt about it, and the next automatic step.
ALTER TABLE attempts ADD COLUMN sent_to text NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN reconcile text NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN horizon_us integer NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN idempotency_header text NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN reference text NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN unknown_at text;
ALTER TABLE attempts ADD COLUMN due_step text NOT NULL DEFAULT '' CHECK (due_step IN ('', 'ring', 'reconcile', 'release', 'resend'));
ALTER TABLE attempts ADD COLUMN due_at text CHECK ((due_step = '') = (due_at IS NULL));
ALTER TABLE attempts ADD COLUMN asked integer NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN finding text NOT NULL DEFAULT '';
CREATE INDEX attempts_due ON attempts (due_at) WHERE due_at IS NOT NULL;

-- Attempts that were waiting when this version came ring once more.
UPDATE attempts SET due_step = 'ring', due_at = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') WHERE state = 'starting';
UPDATE attempts SET unknown_at = COALESCE(started_at, created_at) WHERE state IN ('unknown', 'released');

ALTER TABLE jobs ADD COLUMN unknown_since text;
UPDATE jobs SET unknown_since = updated_at WHERE state = 'unknown';
CREATE INDEX jobs_in_doubt ON jobs (owner_id, unknown_since, id) WHERE unknown_since IS NOT NULL;

-- An attempt is sent once; more often only where its provider honours the attempt's own key.
-- +goose StatementBegin
CREATE TRIGGER attempts_guard_send BEFORE UPDATE OF sends ON attempts
WHEN NEW.sends > OLD.sends AND OLD.sends > 0 AND OLD.idempotency_header = '' BEGIN
    SELECT RAISE(ABORT, 'attempts_sent_once: an attempt is sent once');
END;
-- +goose StatementEnd
