-- +goose Up

-- A proof never says more than its records do. What it copies of the record that it names stays a copy, and it
-- names no record that was revoked without saying so. SQLite wants two triggers for it.
-- +goose StatementBegin
CREATE TRIGGER proofs_guard_insert BEFORE INSERT ON proofs BEGIN
    SELECT RAISE(ABORT, 'proofs_as_recorded: a proof says what its record says')
     WHERE NOT EXISTS (SELECT 1 FROM certification_records WHERE id = NEW.certification_id
        AND (proof_digest, target, contract, verdict, source, expires_at)
          = (NEW.proof_digest, NEW.target, NEW.contract, NEW.verdict, NEW.source, NEW.expires_at));
    SELECT RAISE(ABORT, 'proofs_as_revoked: its record was revoked')
     WHERE NEW.revoked_at IS NULL AND EXISTS (SELECT 1 FROM certification_revocations WHERE certification_id = NEW.certification_id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER proofs_guard_update BEFORE UPDATE OF proof_digest, target, contract, certification_id, verdict, source, expires_at ON proofs BEGIN
    SELECT RAISE(ABORT, 'proofs_as_recorded: a proof says what its record says')
     WHERE NOT EXISTS (SELECT 1 FROM certification_records WHERE id = NEW.certification_id
        AND (proof_digest, target, contract, verdict, source, expires_at)
          = (NEW.proof_digest, NEW.target, NEW.contract, NEW.verdict, NEW.source, NEW.expires_at));
    SELECT RAISE(ABORT, 'proofs_as_revoked: its record was revoked')
     WHERE NEW.revoked_at IS NULL AND EXISTS (SELECT 1 FROM certification_revocations WHERE certification_id = NEW.certification_id);
END;
-- +goose StatementEnd

-- What ended a proof stays until another record counts: one that no other displaced before, of a source that is
-- no weaker. From the strongest on, live, replay and simulated follow one another as they do in a dictionary.
-- +goose StatementBegin
CREATE TRIGGER proofs_guard_end BEFORE UPDATE ON proofs
WHEN NEW.certification_id = OLD.certification_id
 AND ((OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at) OR (OLD.suspended_at IS NOT NULL AND NEW.suspended_at IS NOT OLD.suspended_at)) BEGIN
    SELECT RAISE(ABORT, 'proofs_ended: only another record ends that');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER proofs_guard_move BEFORE UPDATE OF certification_id ON proofs
WHEN NEW.certification_id <> OLD.certification_id AND (NEW.source > OLD.source
  OR EXISTS (SELECT 1 FROM certification_events WHERE certification_id = NEW.certification_id AND type = 'displaced')) BEGIN
    SELECT RAISE(ABORT, 'proofs_displaced: the record does not displace that one');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER proofs_no_delete BEFORE DELETE ON proofs BEGIN SELECT RAISE(ABORT, 'proofs is append-only'); END;
-- +goose StatementEnd

-- A revocation reaches the proof, whoever writes it.
-- +goose StatementBegin
CREATE TRIGGER certification_revocations_reach_proof AFTER INSERT ON certification_revocations BEGIN
    UPDATE proofs SET revoked_at = NEW.revoked_at, updated_at = NEW.revoked_at
     WHERE certification_id = NEW.certification_id AND revoked_at IS NULL;
END;
-- +goose StatementEnd
