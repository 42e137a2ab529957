package daemon

import (
	"fmt"
	"net"
	"slices"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/clusterd/front"
)

// listen takes the ports of every broker, and makes the listeners with what clients are told of them.
func (d *Daemon) listen() (lines [][]net.Listener, err error) {
	configured, err := d.config.Listeners()
	if err != nil {
		return nil, err
	}
	for _, l := range configured {
		policy, err := d.config.Policy(l, func(err error) {
			d.log.Error("certificates that have changed cannot be used, those of before stay", "listener", l.Name, "err", err)
		})
		if err != nil {
			return nil, err
		}
		d.listeners = append(d.listeners, front.Listener{Policy: policy, Addresses: map[core.ReplicaID]front.Address{}})
	}
	for i := range d.config.Dirs() {
		var own []net.Listener
		for j, at := range configured {
			l, err := net.Listen("tcp", at.Address(i))
			if err != nil {
				for _, l := range append(slices.Concat(lines...), own...) {
					l.Close()
				}
				return nil, fmt.Errorf("--kafka-listen %s, broker %d: %w; %s", d.config.KafkaListen[j], i+1, err, listenRemedy)
			}
			host, port := at.Advertised(i, l.Addr().(*net.TCPAddr).Port)
			d.listeners[j].Addresses[core.ReplicaID(i+1)] = front.Address{Host: host, Port: int32(port)}
			own = append(own, l)
		}
		lines = append(lines, own)
	}
	return lines, nil
}

// portFree finds out before a volume is opened and an epoch is spent: NATS itself only says after ten seconds that it
// is not ready.
func portFree(flag, address string) error {
	if address == "" {
		return nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%s %s: %w; %s", flag, address, err, listenRemedy)
	}
	return l.Close()
}

// listenRemedy is what an operator can do about an address that cannot be listened on.
const listenRemedy = "stop what holds the port, or choose an address of this machine with a free one"

// serve begins to accept the clients of one broker, on all its listeners.
func (d *Daemon) serve(b *broker.Broker, lines []net.Listener) {
	settings := map[string]string{"lockstep.nats.url": d.bus.URL()}
	for name, value := range d.config.Shown() {
		settings[name] = value
	}
	may, err := access.ReadSettings(settings)
	if err != nil {
		panic(err) // Check has seen it
	}
	f := front.New(front.Config{
		Cluster: d.cluster, Broker: b, Memory: d.memory, Traffic: &d.traffic, Limits: d.limits(), Settings: settings, Access: may, Source: sources{d.secrets}, Log: d.log,
	})
	d.mu.Lock()
	d.fronts[b.ID()] = f
	d.mu.Unlock()
	for i, l := range lines {
		go func() {
			if err := f.Serve(l, d.listeners[i]); err != nil {
				d.log.Error("listener ended", "broker", int(b.ID()), "listener", d.listeners[i].Name, "err", err)
			}
		}()
	}
}

// listenAgain takes the ports of a broker that was stopped.
func listenAgain(id core.ReplicaID, addresses []string) ([]net.Listener, error) {
	var lines []net.Listener
	for _, address := range addresses {
		l, err := net.Listen("tcp", address)
		if err != nil {
			for _, l := range lines {
				l.Close()
			}
			return nil, fmt.Errorf("broker %d runs but cannot listen on %s: %w; free the address and start it again", id, address, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}
