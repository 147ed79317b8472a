-- +goose Up

-- INSERT OR REPLACE takes a row away without asking the triggers on update and delete, so what may not change may not
-- be inserted over either. A revocation that is there already is ignored, as the store itself has it (ON CONFLICT DO
-- NOTHING); elsewhere the statement is refused. PostgreSQL knows no REPLACE.
-- +goose StatementBegin
CREATE TRIGGER certification_records_no_replace BEFORE INSERT ON certification_records
WHEN EXISTS (SELECT 1 FROM certification_records WHERE id = NEW.id) BEGIN SELECT RAISE(ABORT, 'certification_records is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER certification_artifacts_no_replace BEFORE INSERT ON certification_artifacts
WHEN EXISTS (SELECT 1 FROM certification_artifacts WHERE certification_id = NEW.certification_id) BEGIN SELECT RAISE(ABORT, 'certification_artifacts is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_no_replace BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE owner_id = NEW.owner_id AND job_id = NEW.job_id AND seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'events is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER certification_revocations_no_replace BEFORE INSERT ON certification_revocations
WHEN EXISTS (SELECT 1 FROM certification_revocations WHERE certification_id = NEW.certification_id) BEGIN SELECT RAISE(IGNORE); END;
-- +goose StatementEnd

-- A proof is inserted over by the store alone, whenever another record counts: see proofs_guard_move.
-- +goose StatementBegin
CREATE TRIGGER proofs_no_replace BEFORE INSERT ON proofs
WHEN EXISTS (SELECT 1 FROM proofs WHERE proof_digest = NEW.proof_digest AND target = NEW.target
  AND (certification_id = NEW.certification_id OR NEW.source > source
   OR EXISTS (SELECT 1 FROM certification_events WHERE certification_id = NEW.certification_id AND type = 'displaced'))) BEGIN
    SELECT RAISE(ABORT, 'proofs_displaced: the record does not displace that one');
END;
-- +goose StatementEnd
