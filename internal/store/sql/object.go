package sqlstore

import (
	"context"

	"mooring"
)

const keepObject = `INSERT INTO object (object_id, tenant, session, message, upstream, account) VALUES ($1, $2, $3, $4, $5, $6)
	ON CONFLICT (object_id, tenant) DO UPDATE SET session = excluded.session, message = excluded.message,
	upstream = excluded.upstream, account = excluded.account`

func (w *writer) keepObjects(ctx context.Context, list []mooring.Object) error {
	for _, o := range list {
		err := w.later(ctx, keepObject, bytes(o.ID), raw(o.Tenant), o.Session, o.Message, text(o.Upstream), text(o.Account))
		if err != nil {
			return err
		}
	}
	return nil
}

const forgetObjects = `UPDATE object SET session = '', message = '' WHERE tenant = $1 AND session = $2 AND session <> ''`

const objectOwners = `SELECT tenant, session, message, upstream, account FROM object WHERE object_id = $1
	ORDER BY tenant <> $2, tenant LIMIT 2`

// Owners gives those who own what an upstream knows by an id, this tenant first; at most two.
func (s *Store) Owners(ctx context.Context, tenant mooring.Tenant, id string) ([]mooring.Object, error) {
	var list []mooring.Object
	err := s.each(ctx, func(row scanner) error {
		o := mooring.Object{ID: id}
		err := row.Scan((*rawText)(&o.Tenant), &o.Session, &o.Message, &o.Upstream, &o.Account)
		list = append(list, o)
		return err
	}, objectOwners, bytes(id), bytes(tenant))
	return list, s.dialect.failed(err, "look the owner of an object up")
}
