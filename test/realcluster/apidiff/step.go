package apidiff

import (
	"encoding/json"
	"time"
)

// File is one file of the corpus: steps that are played in order in one namespace.
type File struct {
	// Name is the file's name without .yaml; the namespace is called so too.
	Name string
	// About says in a line what the file is for.
	About string
	Steps []Step

	// text is the file as it was read: what occurs in it literally was chosen by its author and is never normalised.
	text string
}

// Step is one request.
type Step struct {
	// Name is unique in the file: letters, digits, spaces, dots, commas, hyphens.
	Name string `json:"name"`
	// Method is GET, HEAD, OPTIONS, POST, PUT, PATCH or DELETE, or WATCH for a GET that is read as a stream of events;
	// GET if it is not given.
	Method string `json:"method,omitempty"`
	// Path is the path with its query.
	Path string `json:"path"`
	// Accept is application/json if empty.
	Accept string `json:"accept,omitempty"`
	// Type is the content type of the body, application/json if empty. A PATCH must have one.
	Type string `json:"type,omitempty"`
	// Headers are sent too. An empty Authorization sends none, so that the request is anonymous.
	Headers map[string]string `json:"headers,omitempty"`
	// Body is sent as JSON. Raw is sent as it is. At most one of them is given.
	Body json.RawMessage `json:"body,omitempty"`
	Raw  string          `json:"raw,omitempty"`
	// Save keeps values of the answer's body, by path, under names for later steps.
	Save map[string]string `json:"save,omitempty"`
	// Events is how many events a WATCH reads before it hangs up; with Ended it reads until the server ends the stream.
	Events int  `json:"events,omitempty"`
	Ended  bool `json:"ended,omitempty"`
	// Meanwhile is a request without a name that a WATCH sends once its stream is open, so that events come that are
	// news. It must succeed; its answer is not compared otherwise.
	Meanwhile *Step `json:"meanwhile,omitempty"`
	// Until repeats a GET or a dry run until its answer is as wanted, for a minute at most; the last answer is
	// compared.
	Until *Until `json:"until,omitempty"`
	// Keep limits the comparison of the body to these paths; none compares all of it.
	Keep []string `json:"keep,omitempty"`
	// Setup steps are not compared and not counted.
	Setup bool `json:"setup,omitempty"`
	// Code is what the real server must answer; 0 is any success.
	Code int `json:"code,omitempty"`
}

// Until is a condition on an answer: what stands in its body, or that it warns.
type Until struct {
	Path string `json:"path,omitempty"`
	// Value is compared as JSON; null waits until there is nothing at the path.
	Value json.RawMessage `json:"value,omitempty"`
	// Warned waits for any warning, in place of the other two.
	Warned bool `json:"warned,omitempty"`
}

const (
	methodWatch = "WATCH"
	// jsonType is the content type that is asked for and sent if a step names none.
	jsonType = "application/json"
	// stepTimeout bounds a request, streams included.
	stepTimeout = 30 * time.Second
	// untilTimeout bounds the repetitions of a step with Until, untilPause parts them.
	untilTimeout = time.Minute
	untilPause   = 50 * time.Millisecond
)

// cutShort says why the answer is not all that the step waits for; it is empty if it is.
func (s *Step) cutShort(a Answer) string {
	if why, ok := a["until"].(string); ok {
		return why
	}
	end, _ := a["end"].(string)
	if s.Ended && end == endedByServer {
		return ""
	}
	return end
}

// expects reports whether code is what the step must be answered with.
func (s *Step) expects(code int) bool {
	if s.Code != 0 {
		return code == s.Code
	}
	return code >= 200 && code < 300
}
