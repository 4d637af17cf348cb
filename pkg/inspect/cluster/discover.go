package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// discovered is the result of discovery, in the types of client-go.
type discovered struct {
	groups    []metav1.APIGroup
	resources map[schema.GroupVersion]*metav1.APIResourceList
	failed    map[schema.GroupVersion]error
}

// Discover returns the kinds that the server serves, by two parallel requests of aggregated discovery, without any
// cache. If the server has no aggregated discovery (before Kubernetes 1.30), it requests each version of each group,
// 16 at a time.
//
// A group that fails, or that the server reports as stale, is in Kinds.Incomplete. The error is not nil if the server
// cannot be reached, or answers neither form of request.
func Discover(ctx context.Context, config *rest.Config) (*Kinds, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	all, aggregated, err := discoverAggregated(ctx, client.RESTClient())
	if err == nil && !aggregated {
		all, err = discoverLegacy(ctx, client)
	}
	if err != nil {
		return nil, fmt.Errorf("discovering the kinds that the server serves: %w", err)
	}
	return newKinds(all.groups, all.resources, all.failed), nil
}

// discoverAggregated returns false if the server does not support aggregated discovery.
func discoverAggregated(ctx context.Context, client rest.Interface) (discovered, bool, error) {
	paths := []string{"/api", "/apis"}
	answers := make([]*apidiscovery.APIGroupDiscoveryList, len(paths))
	group, ctx := errgroup.WithContext(ctx)
	for i, path := range paths {
		group.Go(func() (err error) {
			answers[i], err = discoveryList(ctx, client, path)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return discovered{}, false, err
	}
	all := discovered{
		resources: map[schema.GroupVersion]*metav1.APIResourceList{},
		failed:    map[schema.GroupVersion]error{},
	}
	for _, answer := range answers {
		if answer == nil {
			return discovered{}, false, nil
		}
		groups, resources, failed := discovery.SplitGroupsAndResources(*answer)
		all.groups = append(all.groups, groups.Groups...)
		maps.Copy(all.resources, resources)
		maps.Copy(all.failed, failed)
	}
	return all, true, nil
}

// discoveryList returns nil if the server does not support aggregated discovery. A server without the core group, as
// an aggregated API server is, answers /api with 404: that is an empty list.
func discoveryList(
	ctx context.Context, client rest.Interface, path string,
) (*apidiscovery.APIGroupDiscoveryList, error) {
	var contentType string
	answer := client.Get().AbsPath(path).
		SetHeader("Accept", discovery.AcceptV2+","+discovery.AcceptV1).
		MaxRetries(retries).
		Do(ctx).ContentType(&contentType)
	body, err := answer.Raw()
	if apierrors.IsForbidden(err) {
		err = answer.Error() // which has the server's words; Raw says "unknown"
	}
	list := &apidiscovery.APIGroupDiscoveryList{}
	if apierrors.IsNotFound(err) && path == "/api" {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	form := apidiscovery.SchemeGroupVersion.WithKind("APIGroupDiscoveryList")
	if is, err := discovery.ContentTypeIsGVK(contentType, form); err != nil || !is {
		return nil, nil //nolint:nilerr,nilnil // an answer of another type is one of the legacy form
	}
	if err := json.Unmarshal(body, list); err != nil {
		return nil, fmt.Errorf("reading the answer to %s: %w", path, err)
	}
	return list, nil
}

// discoverLegacy requests each version of each group.
func discoverLegacy(ctx context.Context, client *discovery.DiscoveryClient) (discovered, error) {
	groups, err := client.WithLegacyWithContext(ctx).ServerGroupsWithContext(ctx)
	if err != nil {
		return discovered{}, err
	}
	var versions []schema.GroupVersion
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			versions = append(versions, schema.GroupVersion{Group: g.Name, Version: v.Version})
		}
	}
	lists, failures := make([]*metav1.APIResourceList, len(versions)), make([]error, len(versions))
	var each errgroup.Group
	each.SetLimit(maxInFlight)
	for i, gv := range versions {
		each.Go(func() error {
			lists[i], failures[i] = client.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
			return nil
		})
	}
	_ = each.Wait() // every request has its own error
	all := discovered{groups.Groups, map[schema.GroupVersion]*metav1.APIResourceList{}, map[schema.GroupVersion]error{}}
	for i, gv := range versions {
		if failures[i] != nil {
			all.failed[gv] = failures[i]
			continue
		}
		all.resources[gv] = lists[i]
	}
	return all, ctx.Err()
}
