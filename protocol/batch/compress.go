package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// errTooLarge says that a small batch grows beyond all measure.
var errTooLarge = errors.New("the records are larger, decompressed, than is allowed")

// zstdWindow is the largest window a batch may ask us to keep: that of level 19 four times over.
const zstdWindow = 32 << 20

// decoders bounds how many batches are decompressed at a time. A hundred bytes may ask for a window of 32 MiB, and a
// batch that takes long gives its processor away in the middle: what decoders hold goes by processors, not by clients.
var decoders = make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))

var (
	gzips = sync.Pool{New: func() any { return new(gzip.Reader) }}
	lz4s  = sync.Pool{New: func() any { return lz4.NewReader(nil) }}
	zstds = sync.Pool{New: func() any {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			panic(err) // the options are constants
		}
		return d
	}}
)

// decompress reads p, at most limit bytes of it decompressed. It may wait for others that decompress; done gives the
// decoder back, and whoever has one must not ask for another.
func decompress(c Codec, p []byte, limit int64) (src io.Reader, done func(), err error) {
	if c == None {
		return bytes.NewReader(p), func() {}, nil
	}
	decoders <- struct{}{}
	src, back, err := open(c, p, limit)
	if err != nil {
		<-decoders
		return nil, nil, err
	}
	return src, func() { back(); <-decoders }, nil
}

// open takes a decoder; back returns it.
func open(c Codec, p []byte, limit int64) (src io.Reader, back func(), err error) {
	switch c {
	case Gzip:
		d := gzips.Get().(*gzip.Reader)
		if err := d.Reset(bytes.NewReader(p)); err != nil {
			return nil, nil, err
		}
		return &bounded{d, limit}, func() { gzips.Put(d) }, nil
	case Snappy:
		src, err := unsnap(p, limit)
		return src, func() {}, err
	case LZ4:
		d := lz4s.Get().(*lz4.Reader)
		d.Reset(bytes.NewReader(p))
		return &bounded{d, limit}, func() { lz4s.Put(d) }, nil
	case Zstd:
		d := zstds.Get().(*zstd.Decoder)
		if err := d.Reset(bytes.NewReader(p)); err != nil {
			return nil, nil, err
		}
		return &bounded{d, limit}, func() { zstds.Put(d) }, nil
	case None:
		return bytes.NewReader(p), func() {}, nil
	default:
		return nil, nil, fmt.Errorf("compression codec %d is not known", int8(c))
	}
}

// bounded fails with errTooLarge once more than left bytes were read.
type bounded struct {
	src  io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// xerial begins snappy data that was written in blocks, as the Java client does.
var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeader = 16 // magic, version, oldest compatible version

func unsnap(p []byte, limit int64) (io.Reader, error) {
	if !bytes.HasPrefix(p, xerial) {
		out, err := snapBlock(nil, p, limit)
		return bytes.NewReader(out), err
	}
	if len(p) < xerialHeader {
		return nil, io.ErrUnexpectedEOF
	}
	return &snapBlocks{rest: p[xerialHeader:], left: limit}, nil
}

// snapRatio is more than snappy can expand: a copy of 64 bytes takes three. A block that claims more is
// lying, and nothing is allocated for it.
const snapRatio = 24

func snapBlock(into, p []byte, limit int64) ([]byte, error) {
	n, err := snappy.DecodedLen(p)
	switch {
	case err != nil:
		return nil, err
	case int64(n) > limit:
		return nil, errTooLarge
	case n > snapRatio*len(p):
		return nil, fmt.Errorf("a snappy block of %d bytes claims to hold %d", len(p), n)
	}
	return snappy.Decode(into[:cap(into)], p)
}

// snapBlocks reads xerial's blocks: each a length and a snappy block.
type snapBlocks struct {
	rest, buf, block []byte
	left             int64
}

func (s *snapBlocks) Read(p []byte) (int, error) {
	for len(s.block) == 0 {
		if len(s.rest) == 0 {
			return 0, io.EOF
		}
		if len(s.rest) < 4 {
			return 0, io.ErrUnexpectedEOF
		}
		n := int64(int32(binary.BigEndian.Uint32(s.rest)))
		if s.rest = s.rest[4:]; n < 0 || n > int64(len(s.rest)) {
			return 0, io.ErrUnexpectedEOF
		}
		out, err := snapBlock(s.buf, s.rest[:n], s.left)
		if err != nil {
			return 0, err
		}
		s.buf, s.block, s.rest, s.left = out, out, s.rest[n:], s.left-int64(len(out))
	}
	n := copy(p, s.block)
	s.block = s.block[n:]
	return n, nil
}

// compress is the inverse of decompress. Few batches are written by a broker: nothing is kept for the next one.
func compress(c Codec, p []byte) ([]byte, error) {
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch c {
	case None:
		return p, nil
	case Gzip:
		w = gzip.NewWriter(&out)
	case Snappy:
		return snappy.Encode(nil, p), nil
	case LZ4:
		w = lz4.NewWriter(&out)
	case Zstd:
		w, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	default:
		err = fmt.Errorf("compression codec %d is not known", int8(c))
	}
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(p); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
