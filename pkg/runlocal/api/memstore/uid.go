package memstore

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// replaceUID gives an object another uid, also wherever else the object has the old one: the strategy of Jobs makes labels
// and a selector of it before the object is stored (generateSelector of k8s.io/kubernetes/pkg/registry/batch/job).
func replaceUID(obj runtime.Object, uid types.UID) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	old := string(m.GetUID())
	m.SetUID(uid)
	if old != "" {
		replaceText(reflect.ValueOf(obj), old, string(uid))
	}
	return nil
}

// replaceText replaces each text of an object that is old. Fields that are not exported, bytes and the keys of maps are left
// as they are.
func replaceText(v reflect.Value, old, updated string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && v.String() == old {
			v.SetString(updated)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			replaceText(v.Elem(), old, updated)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				replaceText(v.Field(i), old, updated)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			if text, ok := textOf(v.Index(i)); ok && text == old && v.Index(i).CanSet() {
				v.Index(i).Set(reflect.ValueOf(updated).Convert(v.Index(i).Type()))
			} else {
				replaceText(v.Index(i), old, updated)
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			entry := v.MapIndex(key) // it cannot be set, but what it points to can
			if text, ok := textOf(entry); ok && text == old {
				v.SetMapIndex(key, reflect.ValueOf(updated).Convert(v.Type().Elem()))
			} else {
				replaceText(entry, old, updated)
			}
		}
	default:
	}
}

// textOf returns the text that a value is, or that an interface has.
func textOf(v reflect.Value) (string, bool) {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v.String(), v.Kind() == reflect.String
}
