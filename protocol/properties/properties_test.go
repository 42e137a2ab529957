package properties

import (
	"maps"
	"strings"
	"testing"
)

func TestPropertiesAreReadAsKafkaWritesThem(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":                                  {},
		"# only\n! comments\n\n":            {},
		"a=b":                               {"a": "b"},
		"  a.b = c d \r\n\tx=\n":            {"a.b": "c d", "x": ""},
		"url=host:1,host:2\nkey=a=b=c\n":    {"url": "host:1,host:2", "key": "a=b=c"},
		"name=\u00e4\u00f6 #no comment\n#x": {"name": "\u00e4\u00f6 #no comment"},
		"a: b\nc\\:d=e":                     {"a": "b", "c:d": "e"},
		`a=b\\c\"\td\u0041`:                 {"a": "b\\c\"\tdA"},
		"a=M required \\\n   user=\"x\" \\\r\n   password=\"y\";\nb=1": {"a": `M required user="x" password="y";`, "b": "1"},
		`a=ends\\` + "\nb=1": {"a": `ends\`, "b": "1"},
		`a=b\`:               {"a": "b"},
	} {
		got, err := Parse(text)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"a=b\nhunter2\n":        "line 2 ",
		"=hunter2":              "line 1 ",
		"a=1\nb=2\na=hunter2":   "line 3 sets a a second time",
		"a=1\\\n2\nhunter2":     "line 3 ",
		`password=hunter2\u00g`: "line 1, password",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
