// Package apidiff sends the same requests to a real kube-apiserver and to the embedded API and compares the answers.
//
// # The corpus
//
// A file of testdata/corpus is a sequence of requests. Files are played one after the other, each in its own namespace,
// which is named as the file and has a ServiceAccount default. No controller runs on either side.
//
//	about: what this file is for
//	steps:
//	- name: create                  # unique in the file; the step is called FILE/create
//	  method: POST                  # GET (the default) POST PUT PATCH DELETE; WATCH is a GET that is read as a stream
//	  path: /api/v1/namespaces/{{ns}}/configmaps
//	  body: {metadata: {name: a}}   # sent as JSON; or raw: text that is sent as it is; or neither
//	  save: {rv: .metadata.resourceVersion}
//	- name: conflict
//	  method: PUT
//	  path: /api/v1/namespaces/{{ns}}/configmaps/a
//	  body: {metadata: {name: a, resourceVersion: "1"}}
//	  code: 409
//
// Further fields of a step are documented at [Step]. {{ns}} is the file's name; {{x}} is what an earlier step saved as
// x from the answer of the same side. A text that is nothing but one placeholder becomes the saved value itself, be it
// a number or an object.
//
// A resource's whole life is one entry, which generates some twenty steps called "things create", "things apply" and so
// on:
//
//   - name: things
//     every:                      # see [Every]: create, read, patches, conflicts, watch, delete, delete the collection
//     path: /apis/example.com/v1/namespaces/{{ns}}/things
//     body: {apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}
//     status: {ready: true}       # also by way of the subresource status
//     codes: {get deleted: 200}   # where a verb is not answered as usual
//
// YAML 1.1 reads n and y as booleans; quote them or use other names. Merges (<<) cannot override a key, since the
// loader is strict.
//
// To add a step, append it to the file that it fits, or start a file; name cluster-scoped objects FILE-something and
// label them corpus: FILE, so that files do not meet. A step without code must succeed on the real server, so that no
// step tests something else than it says. Then run
//
//	APIDIFF_FILES=20-pods APIDIFF_ANSWERS=/tmp/answers go test ./apidiff -run TestAPI
//
// where APIDIFF_FILES is a regular expression of file names, and look at the answers of both sides in that folder.
//
// # Reading a difference
//
//	20-pods/create  body.spec.priority
//	    real      0
//	    embedded  (absent)
//
// The path leads into the answer: code, type (of the content), headers, warnings, body, events. An element of a list is
// named by its index, or by its name where all elements have one. If the codes differ, the bodies are one difference.
// Before comparing, what must differ is replaced by words: `<uid S P>` is the identifier that step S showed at path P
// first, so two different identifiers are never mistaken for one; so are `<version S P>`, the resource version of an
// object, `<ip S P>` and `<port S P>`, which the server handed out, and the generated part of a name. `<time>` is a
// time close to the present, `<time in 1h0m0s>` one that is to come, `<token …>` a token with its claims; see
// normaliser for the rest.
//
// A difference is a defect of the embedded API, to be mended there, or a line in testdata/meant.yaml with a reason that
// a maintainer of Kubernetes would accept. A line that nothing matches any more fails a run of the whole corpus.
package apidiff
