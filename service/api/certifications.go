package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/store"
)

func (s *Server) listCertifications(c *gin.Context) error {
	parameters, err := query(c.Request, "contract", "target", "limit", "cursor")
	if err != nil {
		return err
	}
	filter := store.RecordFilter{Contract: parameters["contract"]}
	if written, ok := parameters["target"]; ok {
		target, err := providers.ParseTarget(written)
		if err != nil {
			return badParameter("target", "is not PROVIDER/MODEL")
		}
		filter.Target = &target
	}
	if filter.Limit, err = limit(parameters); err != nil {
		return err
	}
	if filter.Cursor, err = cursor(parameters, false); err != nil {
		return err
	}
	items, next, err := s.store.Records(c.Request.Context(), filter)
	if err != nil {
		return err
	}
	answer(c, http.StatusOK, pageOf(items, next, func(r store.StoredRecord) certificationView { return viewCertification(identity(c).Owner, r) }))
	return nil
}

func (s *Server) getCertification(c *gin.Context) error {
	id, err := pathID(c, "id")
	if err != nil {
		return err
	}
	record, err := s.store.Record(c.Request.Context(), id)
	if err != nil {
		return err
	}
	answer(c, http.StatusOK, viewCertification(identity(c).Owner, record))
	return nil
}

// getEvidence answers with the very bytes that the record's digest names.
func (s *Server) getEvidence(c *gin.Context) error {
	id, err := pathID(c, "id")
	if err != nil {
		return err
	}
	kept, err := s.store.Evidence(c.Request.Context(), id)
	if err != nil {
		return err
	}
	text, err := evidence.Text(kept.Content, kept.Ref)
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	c.Data(http.StatusOK, "application/json", text)
	return nil
}

func (s *Server) revokeCertification(c *gin.Context) error {
	id, err := pathID(c, "id")
	if err != nil {
		return err
	}
	b, err := s.body(c, false, "reason")
	if err != nil {
		return err
	}
	reason, err := b.requiredText("reason")
	if err != nil {
		return err
	}
	ctx, cancel := mutation(c)
	defer cancel()
	record, err := s.store.Revoke(ctx, id, reason, by(c))
	if err != nil {
		return err
	}
	answer(c, http.StatusOK, viewCertification(identity(c).Owner, record))
	return nil
}
