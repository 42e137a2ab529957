package front

import (
	"crypto/tls"
	"time"

	"lockstep/actors/core/access"
	"lockstep/clusterd/security"
)

// secured makes the connection one of TLS, where its listener has that; false when there can be none.
func (c *conn) secured() bool {
	line, some := c.net.(*tls.Conn)
	if !some {
		if c.login == nil {
			c.at.counts.known.Add(1)
		}
		return true
	}
	line.SetDeadline(time.Now().Add(c.front.limits.Login))
	err := line.Handshake()
	if err == nil {
		err = c.named(line.ConnectionState())
	}
	if err != nil {
		c.at.counts.failed.Add(1)
		c.front.refused.warn(c.front.log, "a connection of TLS did not come about", "client", c.net.RemoteAddr().String(), "listener", c.at.Name, "reason", err.Error())
		return false
	}
	line.SetDeadline(time.Time{})
	if c.login == nil {
		c.at.counts.known.Add(1)
	}
	return true
}

// named makes the client who its certificate says, unless SASL does.
func (c *conn) named(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 || c.login != nil {
		return nil
	}
	subject, err := security.Subject(state.PeerCertificates[0])
	if err != nil {
		return err
	}
	name, err := c.at.Names.User(subject)
	if err == nil {
		c.user = access.UserNamed(name)
	}
	return err
}
