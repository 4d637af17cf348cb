package playback

// moved returns the JSON of an object with its times moved, the same without Options.ShiftTimes.
func (s *Server) moved(data []byte) []byte { return data }
