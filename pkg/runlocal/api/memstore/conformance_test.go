package memstore

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
)

// suiteTest runs one function of upstream's suite.
type suiteTest struct {
	run     func(ctx context.Context, t *testing.T, f *fixture)
	encoded string // why it can only be run in mode Encoded, "" if it can be run in both
	alone   bool   // it sets feature gates, or reads an object that lives for one second: it cannot run beside others
	bubble  bool   // it waits for time to pass, and has no subtests: that time can be virtual
}

func anyStore(run func(context.Context, *testing.T, storage.Interface)) suiteTest {
	return suiteTest{run: func(ctx context.Context, t *testing.T, f *fixture) { run(ctx, t, f) }}
}

func bubble(run func(context.Context, *testing.T, storage.Interface)) suiteTest {
	test := anyStore(run)
	test.bubble = true
	return test
}

func alone(run func(context.Context, *testing.T, storage.Interface)) suiteTest {
	test := anyStore(run)
	test.alone = true
	return test
}

func encodedOnly(reason string, run func(context.Context, *testing.T, *fixture)) suiteTest {
	return suiteTest{run: run, encoded: reason}
}

const nothingToTransform = "it makes a transformer or a codec fail, and objects that are kept as they are go through neither"

// suite is the whole of k8s.io/apiserver/pkg/storage/testing; TestSuiteIsWhole compares it with the source.
func suite() map[string]suiteTest {
	return map[string]suiteTest{
		"RunTestCreate": {run: func(ctx context.Context, t *testing.T, f *fixture) {
			storagetesting.RunTestCreate(ctx, t, f, f.checkStored)
		}},
		"RunTestCreateWithTTL":                              bubble(storagetesting.RunTestCreateWithTTL),
		"RunTestCreateWithKeyExist":                         anyStore(storagetesting.RunTestCreateWithKeyExist),
		"RunTestGet":                                        alone(storagetesting.RunTestGet),
		"RunTestUnconditionalDelete":                        anyStore(storagetesting.RunTestUnconditionalDelete),
		"RunTestConditionalDelete":                          anyStore(storagetesting.RunTestConditionalDelete),
		"RunTestDeleteWithSuggestion":                       anyStore(storagetesting.RunTestDeleteWithSuggestion),
		"RunTestDeleteWithSuggestionAndConflict":            anyStore(storagetesting.RunTestDeleteWithSuggestionAndConflict),
		"RunTestDeleteWithConflict":                         anyStore(storagetesting.RunTestDeleteWithConflict),
		"RunTestDeleteWithSuggestionOfDeletedObject":        anyStore(storagetesting.RunTestDeleteWithSuggestionOfDeletedObject),
		"RunTestValidateDeletionWithSuggestion":             anyStore(storagetesting.RunTestValidateDeletionWithSuggestion),
		"RunTestValidateDeletionWithOnlySuggestionValid":    anyStore(storagetesting.RunTestValidateDeletionWithOnlySuggestionValid),
		"RunTestPreconditionalDeleteWithSuggestion":         anyStore(storagetesting.RunTestPreconditionalDeleteWithSuggestion),
		"RunTestPreconditionalDeleteWithOnlySuggestionPass": anyStore(storagetesting.RunTestPreconditionalDeleteWithOnlySuggestionPass),
		"RunTestGetListRecursivePrefix":                     anyStore(storagetesting.RunTestGetListRecursivePrefix),
		"RunTestListPaging":                                 anyStore(storagetesting.RunTestListPaging),
		"RunTestNamespaceScopedList":                        anyStore(storagetesting.RunTestNamespaceScopedList),
		"RunTestKeySchema":                                  anyStore(storagetesting.RunTestKeySchema),
		"RunTestGuaranteedUpdateWithTTL":                    bubble(storagetesting.RunTestGuaranteedUpdateWithTTL),
		"RunTestGuaranteedUpdateWithConflict":               anyStore(storagetesting.RunTestGuaranteedUpdateWithConflict),
		"RunTestGuaranteedUpdateWithSuggestionAndConflict":  anyStore(storagetesting.RunTestGuaranteedUpdateWithSuggestionAndConflict),
		"RunTestList": {run: func(ctx context.Context, t *testing.T, f *fixture) {
			storagetesting.RunTestList(ctx, t, f, f.compact, true, storagetesting.NewKubernetesRecorder(nil))
		}},
		"RunTestConsistentList": {run: func(ctx context.Context, t *testing.T, f *fixture) {
			storagetesting.RunTestConsistentList(ctx, t, f, f.increaseRV, false, true, false)
		}},
		"RunTestGetListNonRecursive": {run: func(ctx context.Context, t *testing.T, f *fixture) {
			storagetesting.RunTestGetListNonRecursive(ctx, t, f.increaseRV, f)
		}},
		"RunTestListContinuation": {run: func(ctx context.Context, t *testing.T, f *fixture) {
			storagetesting.RunTestListContinuation(ctx, t, f, f.checkReads)
		}},
		"RunTestListPaginationRareObject": {run: func(ctx context.Context, t *testing.T, f *fixture) {
			storagetesting.RunTestListPaginationRareObject(ctx, t, f, f.checkReads)
		}},
		"RunTestListContinuationWithFilter": {run: func(ctx context.Context, t *testing.T, f *fixture) {
			storagetesting.RunTestListContinuationWithFilter(ctx, t, f, f.checkReads)
		}},
		"RunTestListInconsistentContinuation": {run: func(ctx context.Context, t *testing.T, f *fixture) {
			storagetesting.RunTestListInconsistentContinuation(ctx, t, atLatest{f}, f.compact)
		}},
		"RunTestCompactRevision": {run: func(ctx context.Context, t *testing.T, f *fixture) {
			storagetesting.RunTestCompactRevision(ctx, t, f, f.increaseRV, f.compact)
		}},
		"RunTestStats": {run: func(ctx context.Context, t *testing.T, f *fixture) {
			keys := func(context.Context) ([]string, error) { return nil, errors.New("not to be called") }
			if err := f.EnableResourceSizeEstimation(keys); err != nil {
				t.Fatal(err)
			}
			var transformer value.Transformer = f.transformer
			if f.transformer == nil {
				transformer = storagetesting.NewPrefixTransformer(nil, false)
			}
			storagetesting.RunTestStats(ctx, t, f, f.codec, transformer, true)
		}},
		"RunTestGuaranteedUpdate": encodedOnly("it wants stale encodings written again; TestGuaranteedUpdate covers Objects",
			func(ctx context.Context, t *testing.T, f *fixture) {
				storagetesting.RunTestGuaranteedUpdate(ctx, t, f, f.checkStored)
			}),
		"RunTestGuaranteedUpdateChecksStoredData": encodedOnly("it replaces the stored data by another encoding of the same object",
			func(ctx context.Context, t *testing.T, f *fixture) {
				storagetesting.RunTestGuaranteedUpdateChecksStoredData(ctx, t, f)
			}),
		"RunTestListResourceVersionMatch": encodedOnly("it writes to the store from within a transformer, to write in the middle of a list",
			func(ctx context.Context, t *testing.T, f *fixture) {
				storagetesting.RunTestListResourceVersionMatch(ctx, t, f)
			}),
		"RunTestTransformationFailure": encodedOnly(nothingToTransform,
			func(ctx context.Context, t *testing.T, f *fixture) {
				storagetesting.RunTestTransformationFailure(ctx, t, f)
			}),
		"RunTestDeleteWithConflictAndMissingExpectedTransformOrDecodeError": encodedOnly(nothingToTransform,
			func(ctx context.Context, t *testing.T, f *fixture) {
				storagetesting.RunTestDeleteWithConflictAndMissingExpectedTransformOrDecodeError(ctx, t, f,
					f.codec.failing.Store)
			}),
		"RunTestDeleteExpectedTransformOrDecodeError": encodedOnly(nothingToTransform,
			func(ctx context.Context, t *testing.T, f *fixture) {
				storagetesting.RunTestDeleteExpectedTransformOrDecodeError(ctx, t, f, f.codec.failing.Store)
			}),
		"RunTestDeleteWithSuggestionAndMissingExpectedTransformOrDecodeError": {run: func(ctx context.Context, t *testing.T, f *fixture) {
			storagetesting.RunTestDeleteWithSuggestionAndMissingExpectedTransformOrDecodeError(ctx, t, f)
		}},
		"RunTestGetListWithErrorAggregation": encodedOnly(nothingToTransform,
			func(ctx context.Context, t *testing.T, f *fixture) {
				storagetesting.RunTestGetListWithErrorAggregation(ctx, t, overridable{f},
					&corruptError{what: untransformable, err: errors.New("bits flipped")})
			}),
		"RunTestGetListWithoutErrorAggregation": {alone: true, encoded: nothingToTransform,
			run: func(ctx context.Context, t *testing.T, _ *fixture) {
				featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate,
					features.AllowUnsafeMalformedObjectDeletion, false)
				f := newFixture(t, Encoded, Options{})
				storagetesting.RunTestGetListWithoutErrorAggregation(ctx, t, overridable{f},
					&corruptError{what: untransformable, err: errors.New("bits flipped")})
			}},

		"RunTestWatch": anyStore(storagetesting.RunTestWatch),
		"RunTestWatchFromZero": {run: func(ctx context.Context, t *testing.T, f *fixture) {
			storagetesting.RunTestWatchFromZero(ctx, t, f, f.compactWatch)
		}},
		"RunTestDeleteTriggerWatch":                 anyStore(storagetesting.RunTestDeleteTriggerWatch),
		"RunTestWatchFromNonZero":                   anyStore(storagetesting.RunTestWatchFromNonZero),
		"RunTestDelayedWatchDelivery":               bubble(storagetesting.RunTestDelayedWatchDelivery),
		"RunTestWatchContextCancel":                 anyStore(storagetesting.RunTestWatchContextCancel),
		"RunTestWatcherTimeout":                     anyStore(storagetesting.RunTestWatcherTimeout),
		"RunTestWatchDeleteEventObjectHaveLatestRV": anyStore(storagetesting.RunTestWatchDeleteEventObjectHaveLatestRV),
		"RunTestWatchInitializationSignal":          anyStore(storagetesting.RunTestWatchInitializationSignal),
		"RunTestClusterScopedWatch":                 anyStore(storagetesting.RunTestClusterScopedWatch),
		"RunTestNamespaceScopedWatch":               anyStore(storagetesting.RunTestNamespaceScopedWatch),
		"RunTestWatchDispatchBookmarkEvents": {run: func(ctx context.Context, t *testing.T, f *fixture) {
			storagetesting.RunTestWatchDispatchBookmarkEvents(ctx, t, f, true)
		}},
		"RunTestOptionalWatchBookmarksWithCorrectResourceVersion": bubble(storagetesting.RunTestOptionalWatchBookmarksWithCorrectResourceVersion),
		"RunOptionalTestProgressNotify": {bubble: true, run: func(ctx context.Context, t *testing.T, f *fixture) {
			storagetesting.RunOptionalTestProgressNotify(ctx, t, f, f.increaseRV)
		}},
		"RunSendInitialEventsBackwardCompatibility": anyStore(storagetesting.RunSendInitialEventsBackwardCompatibility),
		"RunWatchSemantics":                         alone(storagetesting.RunWatchSemantics),
		"RunWatchSemanticInitialEventsExtended":     alone(storagetesting.RunWatchSemanticInitialEventsExtended),
		"RunWatchListMatchSingle":                   alone(storagetesting.RunWatchListMatchSingle),
		"RunTestWatchError": encodedOnly(nothingToTransform, func(ctx context.Context, t *testing.T, f *fixture) {
			storagetesting.RunTestWatchError(ctx, t, f)
		}),
		"RunTestWatchWithUnsafeDelete": encodedOnly(nothingToTransform,
			func(ctx context.Context, t *testing.T, f *fixture) {
				storagetesting.RunTestWatchWithUnsafeDelete(ctx, t, overridable{f},
					&corruptError{what: untransformable, err: errors.New("bits flipped")})
			}),
		"RunWatchErrorIsBlockingFurtherEvents": encodedOnly(nothingToTransform,
			func(ctx context.Context, t *testing.T, f *fixture) {
				storagetesting.RunWatchErrorIsBlockingFurtherEvents(ctx, t, f)
			}),
	}
}

// TestSuite runs upstream's conformance suite for stores, in all modes.
func TestSuite(t *testing.T) {
	for _, mode := range []Mode{Objects, Encoded, Uncached} {
		for name, test := range suite() {
			if test.encoded != "" && mode == Objects {
				continue
			}
			t.Run(fmt.Sprintf("%v/%s", mode, name), func(t *testing.T) {
				if !test.alone {
					t.Parallel()
				}
				if !test.bubble {
					test.run(t.Context(), t, newFixture(t, mode, Options{}))
					return
				}
				synctest.Test(t, func(t *testing.T) { test.run(t.Context(), t, newFixture(t, mode, Options{})) })
			})
		}
	}
}

// TestSuiteIsWhole fails when upstream's suite has a test that TestSuite does not run, or no longer has one that it
// does.
func TestSuiteIsWhole(t *testing.T) {
	pkg, err := build.Import("k8s.io/apiserver/pkg/storage/testing", ".", 0)
	if err != nil {
		t.Fatal(err)
	}
	var upstream []string
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(pkg.Dir, name), nil,
			parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			// Benchmarks are no tests. All other functions that run something are.
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Run") &&
				!strings.HasPrefix(f.Name.Name, "RunBenchmark") {
				upstream = append(upstream, f.Name.Name)
			}
		}
	}
	slices.Sort(upstream)
	if len(upstream) == 0 {
		t.Fatalf("found no tests in %s", pkg.Dir)
	}
	if diff := cmp.Diff(upstream, slices.Sorted(maps.Keys(suite()))); diff != "" {
		t.Errorf("upstream has (-), TestSuite runs (+):\n%s", diff)
	}
}

// atLatest lists at the latest version where any version will do. RunTestListInconsistentContinuation wants a limit
// kept at version 0, as etcd does and the watch cache does not: upstream does not run it on its watch cache.
type atLatest struct{ *fixture }

// GetList implements storage.Interface.
func (s atLatest) GetList(ctx context.Context, key string, opts storage.ListOptions, listObj runtime.Object) error {
	if opts.ResourceVersion == "0" {
		opts.ResourceVersion = ""
	}
	return s.fixture.GetList(ctx, key, opts, listObj)
}
