-- +goose Up

-- A proof of a live provider is displaced by a live record alone. Recorded and simulated answers are both of no live
-- provider: of these the newest record counts, else a service that accepts one kind could never win back what a run of
-- the other kind has moved.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION guard_proof_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.certification_id = OLD.certification_id THEN
        IF (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
           OR (OLD.suspended_at IS NOT NULL AND NEW.suspended_at IS DISTINCT FROM OLD.suspended_at) THEN
            RAISE EXCEPTION 'only another record ends that' USING ERRCODE = 'check_violation', CONSTRAINT = 'proofs_ended';
        END IF;
    ELSIF (OLD.source = 'live' AND NEW.source <> 'live')
       OR EXISTS (SELECT 1 FROM certification_events WHERE certification_id = NEW.certification_id AND type = 'displaced') THEN
        RAISE EXCEPTION 'the record does not displace that one' USING ERRCODE = 'check_violation', CONSTRAINT = 'proofs_displaced';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
