package controller

import (
	"fmt"
	"slices"

	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

const (
	maxACLs        = 20_000
	maxWideFilters = 100   // of a request, that look at every ACL
	aclsPerEvent   = 1_000 // so that an entry of the journal stays small
)

// tooMany is of entries that nobody looked at. It is one text, because there may be a million of them.
const tooMany = "too many entries in one request: send them in several"

// createACLs judges each binding by itself, as Kafka does.
func (s *State) createACLs(c CreateACLs) outcome {
	answer := ACLsCreated{Ref: c.Ref, Results: make([]ACLResult, len(c.Bindings))}
	var added []access.Binding
	adding := map[access.Binding]bool{}
	for i, b := range c.Bindings {
		r := &answer.Results[i]
		if i >= maxACLs {
			r.Code, r.Text = perr.PolicyViolation, tooMany
			continue
		}
		if r.Text = b.Check(); r.Text != "" {
			r.Code = perr.InvalidRequest
			continue
		}
		if s.acls.Has(b) || adding[b] {
			continue
		}
		if s.acls.Len()+len(added) >= maxACLs {
			r.Code, r.Text = perr.PolicyViolation, fmt.Sprintf("%d ACLs are there, which is the most: remove some, or let prefixed ones stand for many", maxACLs)
			continue
		}
		adding[b] = true
		added = append(added, b)
	}
	return reply(alteredACLs(added, nil), answer)
}

// deleteACLs answers each filter with what it selects, whether another selects it as well.
func (s *State) deleteACLs(c DeleteACLs) outcome {
	answer := ACLsDeleted{Ref: c.Ref, Results: make([]ACLsMatched, len(c.Filters))}
	var removed []access.Binding
	removing := map[access.Binding]bool{}
	wide, room := 0, maxACLs
	for i, f := range c.Filters {
		r := &answer.Results[i]
		if i >= maxACLs {
			r.Code, r.Text = perr.PolicyViolation, tooMany
			continue
		}
		if r.Text = f.Check(); r.Text != "" {
			r.Code = perr.InvalidRequest
			continue
		}
		if f.Wide() {
			if wide++; wide > maxWideFilters {
				r.Code, r.Text = perr.PolicyViolation, fmt.Sprintf("more than %d filters of one request look at every ACL: name the resource and its pattern type, or send them one after the other", maxWideFilters)
				continue
			}
		}
		found, fits := s.acls.SelectedUpTo(f, room)
		if !fits {
			r.Code, r.Text = perr.PolicyViolation, fmt.Sprintf("the filters of one request select more than %d ACLs together: send them one after the other", maxACLs)
			continue
		}
		room -= len(found)
		r.Removed = found
		for _, b := range found {
			if !removing[b] {
				removing[b] = true
				removed = append(removed, b)
			}
		}
	}
	return reply(alteredACLs(nil, removed), answer)
}

func alteredACLs(added, removed []access.Binding) (out outcome) {
	for part := range slices.Chunk(added, aclsPerEvent) {
		out.Events = append(out.Events, ACLsAltered{Added: aclRecords(part)})
	}
	for part := range slices.Chunk(removed, aclsPerEvent) {
		out.Events = append(out.Events, ACLsAltered{Removed: aclRecords(part)})
	}
	if len(out.Events) == 0 {
		return out
	}
	return publish(out, image.ACLsChanged{Added: added, Removed: removed})
}

func aclRecords(list []access.Binding) (records []ACLRecord) {
	for _, b := range list {
		records = append(records, ACLRecord{ResourceType: int8(b.Pattern.Type), ResourceName: b.Pattern.Name, PatternType: int8(b.Pattern.Kind),
			Principal: string(b.Principal), Host: b.Host, Operation: int8(b.Operation), PermissionType: int8(b.Permission)})
	}
	return records
}

func bindings(records []ACLRecord) (list []access.Binding) {
	for _, r := range records {
		list = append(list, access.Binding{
			Pattern:   access.Pattern{Type: access.ResourceType(r.ResourceType), Name: r.ResourceName, Kind: access.PatternType(r.PatternType)},
			Principal: access.Principal(r.Principal), Host: r.Host, Operation: access.Operation(r.Operation), Permission: access.Permission(r.PermissionType)})
	}
	return list
}
