package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// manager is kube-controller-manager's Lease, last renewed that long ago by its clock.
func manager(ago time.Duration) *store {
	s := &store{}
	s.set(func(spec *coordinationv1.LeaseSpec) {
		spec.HolderIdentity, spec.LeaseDurationSeconds = new("cp-1_0a"), new(int32(15))
		spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(-ago)}
	})
	return s
}

func holderOf(t *testing.T, s *store) *Holder {
	t.Helper()
	h, _, err := HolderOf(t.Context(), s, DefaultNamespace, ManagerName)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHolderOf(t *testing.T) {
	for _, row := range []struct {
		reason string
		spec   coordinationv1.LeaseSpec
		want   *Holder
	}{
		{reason: "a Lease that was released has no holder", spec: coordinationv1.LeaseSpec{HolderIdentity: new("")}},
		{reason: "a Lease without anything"},
		{
			reason: "without times the default duration counts",
			spec:   coordinationv1.LeaseSpec{HolderIdentity: new("a")}, want: &Holder{Identity: "a",
				Duration: DefaultDuration},
		},
		{
			reason: "a duration that makes no sense is as good as none",
			spec:   coordinationv1.LeaseSpec{HolderIdentity: new("a"), LeaseDurationSeconds: new(int32(-3))},
			want:   &Holder{Identity: "a", Duration: DefaultDuration},
		},
		{
			reason: "renewed just before",
			spec: coordinationv1.LeaseSpec{
				HolderIdentity: new("a"), LeaseDurationSeconds: new(int32(60)), RenewTime: &metav1.MicroTime{Time: time.Now()},
			},
			want: &Holder{Identity: "a", Duration: time.Minute},
		},
	} {
		s := &store{}
		s.set(func(spec *coordinationv1.LeaseSpec) { *spec = row.spec })
		got := holderOf(t, s)
		if (got == nil) != (row.want == nil) {
			t.Errorf("%s: got %+v, want %+v", row.reason, got, row.want)
			continue
		}
		if got != nil && (got.Identity != row.want.Identity || got.Duration != row.want.Duration) {
			t.Errorf("%s: got %+v, want %+v", row.reason, got, row.want)
		}
	}
	if got := holderOf(t, &store{}); got != nil {
		t.Errorf("a Lease that is not there is held by %+v", got)
	}
}

func TestWaitForRenewal(t *testing.T) {
	for _, row := range []struct {
		reason string
		ago    time.Duration
		renew  time.Duration // between two renewals; 0 is never
		live   bool
		least  time.Duration
		most   time.Duration
	}{
		{"renewed every two seconds", 0, 2 * time.Second, true, 0, 5 * time.Second},
		{"its clock is a day behind, and it is alive", 24 * time.Hour, 2 * time.Second, true, 0, 5 * time.Second},
		{"its clock is a day ahead, and it is alive", -24 * time.Hour, 10 * time.Second, true, 0, 13 * time.Second},
		{"it is gone, and its Lease looks fresh", 0, 0, false, 15 * time.Second, 17 * time.Second},
		{"it is gone since yesterday, which a clock may only pretend", 24 * time.Hour, 0, false, 15 * time.Second, 17 * time.Second},
		{"it is slow: the last moment counts", 0, 14900 * time.Millisecond, true, 14 * time.Second, 17 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := manager(row.ago)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if row.renew > 0 {
				go func() {
					for {
						select {
						case <-ctx.Done():
							return
						case <-time.After(row.renew):
							s.set(func(*coordinationv1.LeaseSpec) {})
						}
					}
				}()
			}
			begin := time.Now()
			got, err := WaitForRenewal(t.Context(), s, DefaultNamespace, ManagerName, holderOf(t, s), 0)
			took := time.Since(begin)
			if err != nil || (got != nil) != row.live || took < row.least || took > row.most {
				t.Errorf("%s: %+v (%v) after %s; want live: %t, in %s to %s", row.reason, got, err, took, row.live,
					row.least, row.most)
			}
		})
	}
}

// TestWaitForRenewalOfALongLease: a Lease that may be renewed only after minutes is watched for as long.
func TestWaitForRenewalOfALongLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := manager(0)
		s.set(func(spec *coordinationv1.LeaseSpec) { spec.LeaseDurationSeconds = new(int32(300)) })
		first := holderOf(t, s)
		time.AfterFunc(90*time.Second, func() { s.set(func(*coordinationv1.LeaseSpec) {}) })
		got, err := WaitForRenewal(t.Context(), s, DefaultNamespace, ManagerName, first, 0)
		if err != nil || got == nil {
			t.Errorf("got %+v (%v) of a holder that renews its Lease every 90 seconds", got, err)
		}
	})
}

func TestWaitForRenewalEndsWhenReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := manager(0)
		first := holderOf(t, s)
		time.AfterFunc(5*time.Second,
			func() { s.set(func(spec *coordinationv1.LeaseSpec) { spec.HolderIdentity = new("") }) })
		begin := time.Now()
		got, err := WaitForRenewal(t.Context(), s, DefaultNamespace, ManagerName, first, 0)
		if err != nil || got != nil || time.Since(begin) > 8*time.Second {
			t.Errorf("got %+v (%v) after %s, want none within eight seconds", got, err, time.Since(begin))
		}
	})
}

func TestWaitForRenewalFails(t *testing.T) {
	s := manager(0)
	first := holderOf(t, s)
	refused := errors.New("forbidden")
	s.failing(refused)
	if _, err := WaitForRenewal(t.Context(), s, DefaultNamespace, ManagerName, first, 0); !errors.Is(err, refused) {
		t.Errorf("got %v, want that nothing is known", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.failing(nil)
	if _, err := WaitForRenewal(ctx, s, DefaultNamespace, ManagerName, first, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after an interrupt", err)
	}
}

func TestWaitForNewHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := manager(time.Hour)
		first := holderOf(t, s)
		s.failing(errors.New("no route to host")) // for less than the deadline
		time.AfterFunc(DefaultDeadline-time.Second, func() { s.failing(nil) })
		time.AfterFunc(time.Hour,
			func() { s.set(func(spec *coordinationv1.LeaseSpec) { spec.HolderIdentity = new("cp-2_0b") }) })
		begin := time.Now()
		got, err := WaitForNewHolder(t.Context(), s, DefaultNamespace, ManagerName, first, NewHolderOptions{})
		took := time.Since(begin)
		if err != nil || got == nil || got.Identity != "cp-2_0b" || took < time.Hour || took > time.Hour+5*time.Second {
			t.Errorf("got %+v (%v) after %s, want cp-2_0b after an hour", got, err, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if got, err := WaitForNewHolder(ctx, s, DefaultNamespace, ManagerName, got, NewHolderOptions{}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("got %+v (%v) of a Lease that no one renews", got, err)
		}
	})
}

func TestNewHolderIsNotKnownOfALeaseThatCannotBeRead(t *testing.T) {
	refused := errors.New("forbidden")
	for _, row := range []struct {
		reason string
		fault  func(*store)
		want   error
	}{
		{"reading fails", func(s *store) { s.failing(refused) }, refused},
		{"reading hangs", func(s *store) { s.hanging(true) }, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := manager(time.Hour)
			first := holderOf(t, s)
			time.AfterFunc(time.Minute, func() { row.fault(s) })
			begin := time.Now()
			got, err := WaitForNewHolder(t.Context(), s, DefaultNamespace, ManagerName, first,
				NewHolderOptions{Deadline: 20 * time.Second})
			if took := time.Since(begin); !errors.Is(err, row.want) || took < 70*time.Second || took > 100*time.Second {
				t.Errorf("%s: got %+v (%v) after %s, want that it is not known after a minute and 20 seconds",
					row.reason, got, err, took)
			}
		})
	}
}
