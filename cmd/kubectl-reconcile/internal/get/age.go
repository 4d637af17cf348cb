package get

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
)

// The columns of the API server tell how long ago something was by the real clock. For ages as of another time, all
// times of an object are moved just before its columns are made. Times are whole seconds then, and so is the distance:
// what passes meanwhile, up to slowest, does not change what is written.
//
// snapshot.Retime is not used for it: the objects are decoded already, and all their times count, whatever the fields
// are called.
const (
	slowest  = 500 * time.Millisecond
	attempts = 5
)

// asOf calls columns with a function that moves times so that they are as long ago as they were at the time; again if
// that took too long for ages to be exact.
func asOf(c clock.PassiveClock, at time.Time, columns func(move func(time.Time) time.Time) error) error {
	for attempt := 1; ; attempt++ {
		start := c.Now()
		by := start.Sub(at.Truncate(time.Second))
		move := func(t time.Time) time.Time {
			if t.IsZero() {
				return t
			}
			return t.Truncate(time.Second).Add(by)
		}
		if err := columns(move); err != nil {
			return err
		}
		if c.Since(start) < slowest || attempt == attempts {
			return nil
		}
	}
}

// moveTimes moves all times of an object, which is a pointer to a struct.
func moveTimes(obj runtime.Object, move func(time.Time) time.Time) {
	moveIn(reflect.ValueOf(obj), move)
}

func moveIn(v reflect.Value, move func(time.Time) time.Time) {
	switch v.Kind() { //nolint:exhaustive // others have no times
	case reflect.Pointer:
		if !v.IsNil() {
			moveIn(v.Elem(), move)
		}
	case reflect.Slice:
		for i := range v.Len() {
			moveIn(v.Index(i), move)
		}
	case reflect.Struct:
		if !v.CanAddr() {
			return
		}
		switch t := v.Addr().Interface().(type) {
		case *metav1.Time:
			t.Time = move(t.Time)
			return
		case *metav1.MicroTime:
			t.Time = move(t.Time)
			return
		}
		for _, field := range v.Fields() {
			if field.CanSet() {
				moveIn(field, move)
			}
		}
	}
}

// movedText returns a text with the time that it is, if it is one, moved.
func movedText(text string, move func(time.Time) time.Time) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return move(t).UTC().Format(time.RFC3339Nano)
}

// moveTexts moves the times among the texts of JSON.
func moveTexts(value any, move func(time.Time) time.Time) any {
	switch v := value.(type) {
	case string:
		return movedText(v, move)
	case []any:
		for i := range v {
			v[i] = moveTexts(v[i], move)
		}
	case map[string]any:
		for key := range v {
			v[key] = moveTexts(v[key], move)
		}
	}
	return value
}
