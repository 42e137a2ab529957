package storm

import (
	"io"
	"net"
	"testing"
	"time"
)

func TestOneShortStorm(t *testing.T) {
	c := Command{Runs: 1, Faults: 2, Stall: time.Minute, Seed: 1, Switchover: true}
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
}

func TestALineThatWasCutCarriesAgainOnTheSameAddress(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	l, err := newLine(echo.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.cut()
	carries := func() error {
		c, err := net.Dial("tcp", l.address())
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_, err = io.ReadFull(c, make([]byte, 1))
		return err
	}
	if err := carries(); err != nil {
		t.Fatal(err)
	}
	l.cut()
	if carries() == nil {
		t.Fatal("carries though it is cut")
	}
	if err := l.open(); err != nil {
		t.Fatal(err)
	}
	if err := carries(); err != nil {
		t.Fatal(err)
	}
}
