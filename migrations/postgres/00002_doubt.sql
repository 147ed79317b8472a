-- +goose Up

-- What a request left behind that helps to end the doubt about it, and the next automatic step.
ALTER TABLE attempts
    ADD COLUMN sent_to            text NOT NULL DEFAULT '',
    ADD COLUMN reconcile          text NOT NULL DEFAULT '',
    ADD COLUMN horizon_us         bigint NOT NULL DEFAULT 0,
    ADD COLUMN idempotency_header text NOT NULL DEFAULT '',
    ADD COLUMN reference          text NOT NULL DEFAULT '',
    ADD COLUMN unknown_at         timestamptz,
    ADD COLUMN due_step           text NOT NULL DEFAULT '' CHECK (due_step IN ('', 'ring', 'reconcile', 'release', 'resend')),
    ADD COLUMN due_at             timestamptz,
    ADD COLUMN asked              integer NOT NULL DEFAULT 0,
    ADD COLUMN finding            text NOT NULL DEFAULT '',
    ADD CONSTRAINT attempts_due CHECK ((due_step = '') = (due_at IS NULL));
CREATE INDEX attempts_due ON attempts (due_at) WHERE due_at IS NOT NULL;

-- Attempts that were waiting when this version came ring once more.
UPDATE attempts SET due_step = 'ring', due_at = clock_timestamp() WHERE state = 'starting';
UPDATE attempts SET unknown_at = COALESCE(started_at, created_at) WHERE state IN ('unknown', 'released');

ALTER TABLE jobs ADD COLUMN unknown_since timestamptz;
UPDATE jobs SET unknown_since = updated_at WHERE state = 'unknown';
CREATE INDEX jobs_in_doubt ON jobs (owner_id, unknown_since, id) WHERE unknown_since IS NOT NULL;

-- An attempt is sent once; more often only where its provider honours the attempt's own key.
-- +goose StatementBegin
CREATE FUNCTION guard_attempt_send() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.sends > OLD.sends AND OLD.sends > 0 AND OLD.idempotency_header = '' THEN
        RAISE EXCEPTION 'an attempt is sent once' USING ERRCODE = 'check_violation', CONSTRAINT = 'attempts_sent_once';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER attempts_guard_send BEFORE UPDATE OF sends ON attempts FOR EACH ROW EXECUTE FUNCTION guard_attempt_send();
