// Package webhook has the webhooks of storefronts.
package webhook

import (
	"context"
	"errors"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	v1 "github.com/kubectl-reconcile/kubectl-reconcile/test/envtest/api/v1"
	v2 "github.com/kubectl-reconcile/kubectl-reconcile/test/envtest/api/v2"
)

// SetupWithManager adds the webhooks to a manager: for defaults, validation and conversion.
func SetupWithManager(mgr ctrl.Manager) error {
	return errors.Join(
		ctrl.NewWebhookManagedBy(mgr, &v2.Storefront{}).WithDefaulter(defaulter{}).WithValidator(validator{}).
			Complete(),
		ctrl.NewWebhookManagedBy(mgr, &v1.Storefront{}).Complete(),
	)
}

type defaulter struct{}

// Default implements admission.Defaulter.
func (defaulter) Default(_ context.Context, shop *v2.Storefront) error {
	if shop.Spec.Replicas == nil {
		shop.Spec.Replicas = new(int32(2))
	}
	if shop.Spec.Image.Tag == "" {
		shop.Spec.Image.Tag = "stable"
	}
	return nil
}

// protected is the annotation of storefronts that must not be deleted.
const protected = "shop.example.com/protected"

type validator struct{}

// ValidateCreate implements admission.Validator.
func (validator) ValidateCreate(_ context.Context, shop *v2.Storefront) (admission.Warnings, error) {
	if shop.Spec.Image.Tag == "latest" {
		return nil, errors.New("spec.image.tag: latest is not allowed")
	}
	if shop.Spec.Currency == "" {
		return admission.Warnings{"spec.currency: prices are shown without one"}, nil
	}
	return nil, nil
}

// ValidateUpdate implements admission.Validator.
func (v validator) ValidateUpdate(ctx context.Context, old, shop *v2.Storefront) (admission.Warnings, error) {
	if old.Spec.Currency != shop.Spec.Currency {
		return nil, fmt.Errorf("spec.currency: cannot be changed from %q", old.Spec.Currency)
	}
	return v.ValidateCreate(ctx, shop)
}

// ValidateDelete implements admission.Validator.
func (validator) ValidateDelete(_ context.Context, shop *v2.Storefront) (admission.Warnings, error) {
	if shop.Annotations[protected] != "" {
		return nil, errors.New("it is protected")
	}
	return nil, nil
}
