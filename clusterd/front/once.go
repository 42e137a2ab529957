package front

// once keeps the first of those that are equal by key. A request of three bytes an item may name the same topic, group
// or setting again and again, and each answer would be as long as the first: kilobytes for bytes. Clients that want an
// answer need one.
func once[T any, K comparable](list []T, key func(T) K) []T {
	if len(list) < 2 {
		return list
	}
	seen := make(map[K]bool, min(len(list), 1024))
	kept := make([]T, 0, min(len(list), 1024))
	for _, item := range list {
		if k := key(item); !seen[k] {
			seen[k] = true
			kept = append(kept, item)
		}
	}
	return kept
}

// itself is the key of what is compared as a whole.
func itself[T comparable](item T) T { return item }
