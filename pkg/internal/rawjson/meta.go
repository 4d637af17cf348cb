package rawjson

// Meta is what identifies an object of an API, and its version. Fields that the object does not have are empty.
type Meta struct {
	Namespace, Name, UID, ResourceVersion string
}

// Object reads an object of an API with its metadata, and returns where it is.
func (m *Meta) Object(s *Scanner) (Span, error) {
	s.Peek()
	start := s.at
	err := s.Object(func(key []byte) error {
		if string(key) != "metadata" || s.Peek() != '{' {
			return s.skip()
		}
		return s.Object(func(key []byte) error { return m.field(s, key) })
	})
	return Span{start, s.at}, err
}

// field reads a field of the metadata.
func (m *Meta) field(s *Scanner, key []byte) error {
	var to *string
	switch string(key) {
	case "namespace":
		to = &m.Namespace
	case "name":
		to = &m.Name
	case "uid":
		to = &m.UID
	case "resourceVersion":
		to = &m.ResourceVersion
	}
	if to == nil || s.Peek() != '"' {
		return s.skip()
	}
	var err error
	*to, err = s.String()
	return err
}
