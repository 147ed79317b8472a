-- +goose Up

-- A proof of a live provider is displaced by a live record alone. Recorded and simulated answers are both of no live
-- provider: of these the newest record counts, else a service that accepts one kind could never win back what a run of
-- the other kind has moved.
DROP TRIGGER proofs_guard_move;
-- +goose StatementBegin
CREATE TRIGGER proofs_guard_move BEFORE UPDATE OF certification_id ON proofs
WHEN NEW.certification_id <> OLD.certification_id AND ((OLD.source = 'live' AND NEW.source <> 'live')
  OR EXISTS (SELECT 1 FROM certification_events WHERE certification_id = NEW.certification_id AND type = 'displaced')) BEGIN
    SELECT RAISE(ABORT, 'proofs_displaced: the record does not displace that one');
END;
-- +goose StatementEnd

DROP TRIGGER proofs_no_replace;
-- +goose StatementBegin
CREATE TRIGGER proofs_no_replace BEFORE INSERT ON proofs
WHEN EXISTS (SELECT 1 FROM proofs WHERE proof_digest = NEW.proof_digest AND target = NEW.target
  AND (certification_id = NEW.certification_id OR (source = 'live' AND NEW.source <> 'live')
   OR EXISTS (SELECT 1 FROM certification_events WHERE certification_id = NEW.certification_id AND type = 'displaced'))) BEGIN
    SELECT RAISE(ABORT, 'proofs_displaced: the record does not displace that one');
END;
-- +goose StatementEnd
