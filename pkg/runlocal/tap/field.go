package tap

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// fieldOf finds a field of the struct that target points to, and that it is set. field may be a path.
func fieldOf(target any, field string) (reflect.Value, error) {
	v := reflect.ValueOf(target)
	for name := range strings.SplitSeq(field, ".") {
		v = pointedTo(v)
		if v.Kind() != reflect.Struct || !v.CanAddr() {
			return v, fmt.Errorf("%T is no pointer to a struct on the way to %q", target, name)
		}
		inner := v.FieldByName(name)
		if !inner.IsValid() {
			return inner, fmt.Errorf("%v has no field %q", v.Type(), name)
		}
		if inner.IsZero() {
			return inner, fmt.Errorf("field %q of %v is not set", name, v.Type())
		}
		v = inner
	}
	return v, nil
}

// pointedTo follows pointers, and what interfaces hold.
func pointedTo(v reflect.Value) reflect.Value {
	for (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && !v.IsNil() {
		v = v.Elem()
	}
	return v
}

// fieldType is fieldOf for what is known without a controller.
func fieldType(controller reflect.Type, field string) (reflect.Type, error) {
	t := controller
	for name := range strings.SplitSeq(field, ".") {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return nil, fmt.Errorf("%v is no struct on the way to %q", t, name)
		}
		inner, ok := t.FieldByName(name)
		if !ok {
			return nil, fmt.Errorf("%v has no field %q", t, name)
		}
		t = inner.Type
	}
	return t, nil
}

// privateField returns the address of a field of the struct that target points to, of exactly type F.
func privateField[F any](target any, field string) (*F, error) {
	f, err := fieldOf(target, field)
	if err != nil {
		return nil, err
	}
	if want := reflect.TypeFor[F](); f.Type() != want {
		return nil, fmt.Errorf("field %q of %T is a %v, not a %v", field, target, f.Type(), want)
	}
	return (*F)(unsafe.Pointer(f.UnsafeAddr())), nil //nolint:gosec // the type was compared just above
}

// Swap replaces a private field of target, of exactly type F, by what wrap makes of it. Between target's constructor and
// its Run, nothing else may use the field. The error names the type and the field when upstream has moved it or given it
// another type.
func Swap[F any](c *Controller, target any, field string, wrap func(F) F) error {
	f, err := privateField[F](target, field)
	if err != nil {
		return fmt.Errorf("observing field %q of controller %q: %w", field, c.name, err)
	}
	*f = wrap(*f)
	return nil
}
