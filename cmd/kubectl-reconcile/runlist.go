package main

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// listOutputs are the values of -o that go with --list.
var listOutputs = []string{"json", "yaml", "name"}

// controllerItem is a controller as `run --list` tells it.
type controllerItem struct {
	Name string `json:"name"`
	// Short is its name in the trace; empty if it does not run.
	Short   string   `json:"short,omitempty"`
	Aliases []string `json:"aliases,omitempty"`
	// Runs says whether this build can run it, and Default whether '*' does.
	Runs    bool `json:"runs"`
	Default bool `json:"default"`
	// Flags are those without which it does not run on a cluster.
	Flags []string `json:"flags,omitempty"`
	// Danger is what it would destroy if it saw only a part of the cluster.
	Danger string `json:"danger,omitempty"`
	// Reason is why it does not run, or what it needs the flags for.
	Reason string `json:"reason,omitempty"`
}

// controllerList is what `run --list -o json` prints.
type controllerList struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Items      []controllerItem `json:"items"`
}

// newControllerList tells of all controllers of kube-controller-manager, sorted by name.
func newControllerList() controllerList {
	list := controllerList{APIVersion: outputVersion, Kind: "ControllerList"}
	for _, c := range controllers.All() {
		item := controllerItem{
			Name: c.Name, Short: c.Short, Aliases: c.Aliases,
			Runs: c.Runs(), Default: c.Runs() && !c.OffByDefault, Danger: c.Danger, Reason: c.NotRun,
		}
		if lack := c.Lacks(controllers.Authority{}); lack != "" {
			item.Flags, item.Reason = strings.Split(flagsFor(lack), " and "), lack
		}
		list.Items = append(list.Items, item)
	}
	return list
}

// list prints the controllers.
func (f *runFlags) printList(streams genericiooptions.IOStreams) error {
	if f.controllers != "" {
		return errors.New("--list and --controller exclude each other: --list tells of all controllers")
	}
	if err := knownOutput(f.output, listOutputs, "for people"); err != nil {
		return err
	}
	list := newControllerList()
	switch f.output {
	case "":
		return printControllers(streams.Out, list.Items, render.TerminalWidth(streams.Out))
	case "name":
		return writeNames(streams.Out, list.Items, func(i controllerItem) string { return i.Name })
	}
	return writeDocument(streams.Out, f.output, list)
}

// printControllers prints a table.
func printControllers(w io.Writer, items []controllerItem, width int) error {
	table := render.NewListing([]render.Column{
		{Title: "NAME"}, {Title: "SHORT", Rank: 3}, {Title: "ALIASES", Spare: true, Rank: 1}, {Title: "RUNS"}, {Title: "DEFAULT"},
		{Title: "DANGER", Free: true, Rank: 2}, {Title: "WHY", Free: true},
	}, render.ListingOptions{Width: width})
	var rows [][]render.Cell
	for _, i := range items {
		var cells []render.Cell
		for _, text := range []string{
			i.Name, orNone(i.Short), orNone(strings.Join(i.Aliases, ",")), i.runs(), yesNo(i.Default), orNone(i.Danger), orNone(i.why()),
		} {
			cells = append(cells, render.Cell{Text: text})
		}
		rows = append(rows, cells)
	}
	return table.Write(w, rows)
}

func (i controllerItem) runs() string {
	if len(i.Flags) > 0 {
		return "needs a key"
	}
	return yesNo(i.Runs)
}

// why is why it does not run, or what makes it run on a cluster: the sandbox has all keys.
func (i controllerItem) why() string {
	if len(i.Flags) > 0 {
		return "on a cluster: " + strings.Join(i.Flags, ", ")
	}
	return i.Reason
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// orNone is text, or what kubectl prints where there is none.
func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}

// completeOutput offers the values of -o, which are others with --list.
func (f *runFlags) completeOutput(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		if f.list {
			return listOutputs, cobra.ShellCompDirectiveNoFileComp
		}
		return []string{"json"}, cobra.ShellCompDirectiveNoFileComp
	})
}
