package main

import (
	"encoding/xml"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInBrowser looks at pictures in Chromium: those of the documentation, and one of all that a line may have. Each is
// looked at as a page shows it, as wide as GitHub's, light and dark, and by itself: there is ink where the terminal had a
// letter, and none where it had a blank. test/chromium.sh installs the browser where it can.
func TestInBrowser(t *testing.T) {
	browser := findBrowser()
	if browser == "" {
		t.Skip("there is no Chromium in PATH: see test/chromium.sh")
	}
	const all = "all.svg"
	dir := t.TempDir()
	pictures := map[string]string{all: draw("kubectl reconcile x", parse("NAME      \x1b[1mREADY\x1b[0m   a  b\n"+
		"\x1b[2m└─\x1b[22mPod/\x1b[31mweb\x1b[0m  \x1b[32m1/1  \x1b[0m   <&>   \"c\"\n\n   indented    by blanks, and long: "+
		strings.Repeat("word ", 15)+"end"))}
	paths, err := filepath.Glob("../../docs/images/*.svg")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no pictures: %v", err)
	}
	for _, path := range paths {
		pictures[filepath.Base(path)] = readFile(t, path)
	}
	var page strings.Builder
	page.WriteString("<!doctype html>")
	type shown struct {
		reason     string
		lines      []string
		top, scale float64
	}
	var onPage []shown
	y := 0.0
	for _, background := range []string{"#ffffff", "#0d1117"} {
		for name, picture := range pictures {
			width, height, lines := read(t, picture)
			scale := min(1, githubWidth/width)
			fmt.Fprintf(&page, `<div style="position:absolute;left:0;top:%fpx;width:%fpx;background:%s">`+
				`<img src="%s" style="display:block;max-width:100%%"></div>`, y, githubWidth, background, name)
			onPage = append(onPage, shown{name + " on a page of " + background, lines, y, scale})
			y += math.Ceil(height * scale)
		}
	}
	for name, text := range pictures {
		writeFile(t, filepath.Join(dir, name), text)
	}
	writeFile(t, filepath.Join(dir, "page.html"), page.String())
	shot := screenshot(t, browser, filepath.Join(dir, "page.html"), githubWidth, y)
	for _, s := range onPage {
		compareCells(t, s.reason, shot, s.lines, s.top, s.scale)
	}
	width, height, lines := read(t, pictures[all])
	compareCells(t, "by itself", screenshot(t, browser, filepath.Join(dir, all), width, height), lines, 0, 1)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	// githubWidth is how wide a README is on the page of a repository, in pixels.
	githubWidth = 838.0
	// shotScale is how many pixels of a screenshot are one of the page.
	shotScale = 2.0
)

// findBrowser returns the path of Chromium, under one of its names; empty if there is none.
func findBrowser() string {
	for _, name := range []string{"chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// screenshot returns what the browser shows of a file.
func screenshot(t *testing.T, browser, path string, width, height float64) image.Image {
	t.Helper()
	out := filepath.Join(t.TempDir(), "shot.png")
	profile, err := os.MkdirTemp("", "picture-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(profile) }() // a process of the browser may still write to it
	cmd := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--hide-scrollbars", "--user-data-dir="+profile, fmt.Sprintf("--force-device-scale-factor=%g", shotScale),
		fmt.Sprintf("--window-size=%.0f,%.0f", width, height+100), "--screenshot="+out, "file://"+path)
	if log, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, log)
	}
	file, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	shot, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return shot
}

// read returns the size of a picture, and its lines as the terminal had them.
func read(t *testing.T, picture string) (width, height float64, lines []string) {
	t.Helper()
	var svg struct {
		Width  int `xml:"width,attr"`
		Height int `xml:"height,attr"`
		Group  struct {
			Texts []struct {
				Y     int `xml:"y,attr"`
				Spans []struct {
					Text string `xml:",chardata"`
				} `xml:"tspan"`
			} `xml:"text"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal([]byte(picture), &svg); err != nil {
		t.Fatal(err)
	}
	lines = make([]string, (svg.Height-top-margin)/lineHeight)
	for _, text := range svg.Group.Texts {
		for _, span := range text.Spans {
			lines[(text.Y-top-fontSize)/lineHeight] += span.Text
		}
	}
	return float64(svg.Width), float64(svg.Height), lines
}

// compareCells reports each line of a picture that is not shown as the terminal had it, by its first cell that is not.
// The picture begins at y on the page, which shows it at that scale.
func compareCells(t *testing.T, reason string, shot image.Image, lines []string, y, scale float64) {
	t.Helper()
	for row, line := range lines {
		// The blanks at the end: nothing may be shown after a line.
		for column, letter := range []rune(line + "  ") {
			// A letter may reach a little into the cells beside it.
			from, to := 0.3, 0.7
			if letter != ' ' {
				from, to = -0.1, 1.1
			}
			left, upper := margin+float64(column)*columnWidth, float64(top+row*lineHeight)
			pixel := func(x, lower float64) image.Point {
				return image.Pt(int(x*scale*shotScale), int((y+lower*scale)*shotScale))
			}
			area := image.Rectangle{
				pixel(left+from*columnWidth, upper), pixel(left+to*columnWidth, upper+lineHeight),
			}
			if hasInk(shot, area) != (letter != ' ') {
				t.Errorf("%s: line %d is not as it was from column %d on, %q: %s", reason, row, column, letter, line)
				break
			}
		}
	}
}

// hasInk reports whether a part of a picture has another colour than its background.
func hasInk(shot image.Image, area image.Rectangle) bool {
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			if r, g, b, _ := shot.At(x, y).RGBA(); max(r, g, b)>>8 > 0x40 { // the background is #0d1117
				return true
			}
		}
	}
	return false
}
