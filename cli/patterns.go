package main

import (
	"fmt"
	"regexp"
)

// checkPatterns names the first of --topics that is no regular expression.
func checkPatterns(topics []string) error {
	for i, s := range topics {
		if _, err := regexp.Compile(s); err != nil {
			return fmt.Errorf("--topics %q (number %d) is not a regular expression: %w", s, i+1, err)
		}
	}
	return nil
}

// matches reports whether a name is one of --topics or matched whole by one; without any, every name is. They have
// passed checkPatterns.
func matches(topics []string, name string) bool {
	if len(topics) == 0 {
		return true
	}
	for _, s := range topics {
		if s == name || regexp.MustCompile(`\A(?:`+s+`)\z`).MatchString(name) {
			return true
		}
	}
	return false
}
