-- +goose Up

-- A proof never says more than its records do. What it copies of the record that it names stays a copy, and it
-- names no record that was revoked without saying so.
-- +goose StatementBegin
CREATE FUNCTION guard_proof_copy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM certification_records WHERE id = NEW.certification_id
        AND (proof_digest, target, contract, verdict, source, expires_at)
          = (NEW.proof_digest, NEW.target, NEW.contract, NEW.verdict, NEW.source, NEW.expires_at)) THEN
        RAISE EXCEPTION 'a proof says what its record says' USING ERRCODE = 'check_violation', CONSTRAINT = 'proofs_as_recorded';
    END IF;
    IF NEW.revoked_at IS NULL AND EXISTS (SELECT 1 FROM certification_revocations WHERE certification_id = NEW.certification_id) THEN
        RAISE EXCEPTION 'its record was revoked' USING ERRCODE = 'check_violation', CONSTRAINT = 'proofs_as_revoked';
    END IF;
    RETURN NEW;
END $$;

-- What ended a proof stays until another record counts: one that no other displaced before, of a source that is
-- no weaker. From the strongest on, live, replay and simulated follow one another as they do in a dictionary.
CREATE FUNCTION guard_proof_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.certification_id = OLD.certification_id THEN
        IF (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
           OR (OLD.suspended_at IS NOT NULL AND NEW.suspended_at IS DISTINCT FROM OLD.suspended_at) THEN
            RAISE EXCEPTION 'only another record ends that' USING ERRCODE = 'check_violation', CONSTRAINT = 'proofs_ended';
        END IF;
    ELSIF NEW.source > OLD.source
       OR EXISTS (SELECT 1 FROM certification_events WHERE certification_id = NEW.certification_id AND type = 'displaced') THEN
        RAISE EXCEPTION 'the record does not displace that one' USING ERRCODE = 'check_violation', CONSTRAINT = 'proofs_displaced';
    END IF;
    RETURN NEW;
END $$;

-- A revocation reaches the proof, whoever writes it.
CREATE FUNCTION revoke_proof() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE proofs SET revoked_at = NEW.revoked_at, updated_at = NEW.revoked_at
     WHERE certification_id = NEW.certification_id AND revoked_at IS NULL;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER proofs_guard_copy BEFORE INSERT OR UPDATE OF proof_digest, target, contract, certification_id, verdict, source, expires_at
    ON proofs FOR EACH ROW EXECUTE FUNCTION guard_proof_copy();
CREATE TRIGGER proofs_guard_move BEFORE UPDATE ON proofs FOR EACH ROW EXECUTE FUNCTION guard_proof_move();
CREATE TRIGGER proofs_no_delete BEFORE DELETE ON proofs FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER proofs_no_truncate BEFORE TRUNCATE ON proofs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER certification_revocations_reach_proof AFTER INSERT ON certification_revocations FOR EACH ROW EXECUTE FUNCTION revoke_proof();
