-- +goose Up

-- What 00007 does for records and events, for jobs, attempts and what happened to a record: no row is taken away by an
-- insert or update OR REPLACE. A trigger comes before a statement's own ON CONFLICT DO NOTHING: where the store inserts
-- with one, it reads jobs_one_per_key and certification_events_one_of_a_kind as that conflict.
-- +goose StatementBegin
CREATE TRIGGER jobs_no_replace BEFORE INSERT ON jobs BEGIN
    SELECT RAISE(ABORT, 'jobs_one_per_key: owner_id and idempotency_key name a job already')
     WHERE EXISTS (SELECT 1 FROM jobs WHERE owner_id = NEW.owner_id AND idempotency_key = NEW.idempotency_key);
    SELECT RAISE(ABORT, 'jobs_one_per_id: owner_id and id name a job already')
     WHERE EXISTS (SELECT 1 FROM jobs WHERE owner_id = NEW.owner_id AND id = NEW.id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER certification_events_no_replace BEFORE INSERT ON certification_events
WHEN EXISTS (SELECT 1 FROM certification_events WHERE certification_id = NEW.certification_id AND type = NEW.type) BEGIN
    SELECT RAISE(ABORT, 'certification_events_one_of_a_kind: that happened to the record already');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER attempts_no_replace BEFORE INSERT ON attempts BEGIN
    SELECT RAISE(ABORT, 'attempts_one_blocking: another attempt of the job blocks')
     WHERE NEW.state IN ('starting', 'running', 'unknown') AND EXISTS (
        SELECT 1 FROM attempts WHERE owner_id = NEW.owner_id AND job_id = NEW.job_id AND state IN ('starting', 'running', 'unknown'));
    SELECT RAISE(ABORT, 'attempts_one_winner: another attempt of the job succeeded')
     WHERE NEW.state = 'succeeded' AND EXISTS (
        SELECT 1 FROM attempts WHERE owner_id = NEW.owner_id AND job_id = NEW.job_id AND state = 'succeeded');
    SELECT RAISE(ABORT, 'attempts_no_replace: its number, id or idempotency_key names an attempt already')
     WHERE EXISTS (SELECT 1 FROM attempts WHERE id = NEW.id OR (owner_id = NEW.owner_id AND job_id = NEW.job_id
        AND (number = NEW.number OR idempotency_key = NEW.idempotency_key)));
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER attempts_no_replace_by_state BEFORE UPDATE OF state ON attempts BEGIN
    SELECT RAISE(ABORT, 'attempts_one_blocking: another attempt of the job blocks')
     WHERE NEW.state IN ('starting', 'running', 'unknown') AND EXISTS (
        SELECT 1 FROM attempts WHERE owner_id = OLD.owner_id AND job_id = OLD.job_id AND number <> OLD.number
           AND state IN ('starting', 'running', 'unknown'));
    SELECT RAISE(ABORT, 'attempts_one_winner: another attempt of the job succeeded')
     WHERE NEW.state = 'succeeded' AND EXISTS (
        SELECT 1 FROM attempts WHERE owner_id = OLD.owner_id AND job_id = OLD.job_id AND number <> OLD.number AND state = 'succeeded');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER attempts_no_replace_by_name BEFORE UPDATE OF owner_id, job_id, number, id, idempotency_key ON attempts BEGIN
    SELECT RAISE(ABORT, 'attempts_no_replace: what names an attempt never changes');
END;
-- +goose StatementEnd
