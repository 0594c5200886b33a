// Command porcupine checks the history of a storm a second time, with the linearizability checker of that name: is
// there an order of all acquires and releases in which a correct lock gives these answers? With the check in Python
// (src/fencepost/testing/storm/check.py) it shares only how the history is read (turn.py), so that a mistake in one
// check does not hide in the other.
//
// Standard input has an operation in each line, as JSON. Standard output gets a line for each name for which there is
// no such order (Illegal), or for which the time was too short to tell (Unknown). The exit code is 0 if there is no
// such line, 1 if there is one, and 2 if the input cannot be checked.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// An operation took effect at one instant from Call to Return, in nanoseconds of one clock.
type operation struct {
	Name   string `json:"name"`
	Owner  string `json:"owner"`
	Do     string `json:"do"`    // acquire or release
	Mode   string `json:"mode"`  // exclusive, shared or counted
	Limit  int    `json:"limit"` // how many may hold it at once, if it is counted
	Token  int64  `json:"token"`
	Call   int64  `json:"call"`
	Return int64  `json:"return"`
	// The next lower token of the name. Tokens only grow, so this acquire directly follows the one that has it. A
	// model that only asked for a higher token than the last would have the checker try most orders of readers who
	// wait at the same time.
	after int64
}

// A verdict is a line of the output. After the longest order that was found, Stuck is the first that fits nowhere.
type verdict struct {
	Name   string                `json:"name"`
	Result porcupine.CheckResult `json:"result"`
	Stuck  *operation            `json:"stuck,omitempty"`
}

// A lock is the state of one name: its latest acquire, and those that are not released, sorted.
type lock struct {
	last *operation
	held []*operation
}

func (now lock) admits(ask *operation, twins bool) bool {
	twin := twins && ask.Mode == "shared" && now.last.Mode == "shared" && ask.Token == now.last.Token
	if ask.after != now.last.Token && !twin {
		return false
	}
	for _, each := range now.held {
		if ask.Mode == "exclusive" || ask.Mode != each.Mode {
			return false
		}
	}
	return ask.Mode != "counted" || len(now.held) < ask.Limit
}

// model is a lock with owners and fencing tokens. If there are twins, readers may share a token.
func model(twins bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return lock{last: &operation{}} },
		Step: func(state, input, _ any) (bool, any) {
			now, does := state.(lock), input.(*operation)
			if does.Do == "acquire" {
				held := append(slices.Clone(now.held), does)
				slices.SortFunc(held, func(one, other *operation) int {
					return cmp.Or(cmp.Compare(one.Token, other.Token), cmp.Compare(one.Owner, other.Owner))
				})
				return now.admits(does, twins), lock{does, held}
			}
			left := slices.DeleteFunc(slices.Clone(now.held), func(each *operation) bool {
				return each.Owner == does.Owner && each.Token == does.Token
			})
			return len(left) < len(now.held), lock{now.last, left}
		},
		Equal: func(one, other any) bool {
			return one.(lock).last.Token == other.(lock).last.Token && slices.Equal(one.(lock).held, other.(lock).held)
		},
	}
}

// check takes the operations of one name, and no longer than twice the timeout.
func check(name string, operations []*operation, twins bool, timeout time.Duration) verdict {
	tokens := []int64{0}
	for _, each := range operations {
		if each.Do == "acquire" {
			tokens = append(tokens, each.Token)
		}
	}
	slices.Sort(tokens)
	var history []porcupine.Operation
	for _, each := range operations {
		until := each.Return
		if each.Do == "acquire" {
			place, _ := slices.BinarySearch(tokens, each.Token)
			each.after = tokens[place-1]
		} else {
			// A release excludes nobody. So if there is an order, there is one in which each release comes as early
			// as it can. Otherwise the checker would try all orders of releases whose instant is not known.
			until = each.Call
		}
		history = append(history, porcupine.Operation{Input: each, Call: each.Call, Return: until})
	}
	result := porcupine.CheckOperationsTimeout(model(twins), history, timeout)
	if result != porcupine.Illegal {
		return verdict{Name: name, Result: result}
	}
	// Once more to find out where, which is slow for histories that are fine.
	_, info := porcupine.CheckOperationsVerbose(model(twins), history, timeout)
	placed := map[any]bool{}
	longest := slices.MaxFunc(
		append(info.PartialLinearizationsOperations()[0], nil),
		func(one, other []porcupine.Operation) int { return len(one) - len(other) },
	)
	for _, each := range longest {
		placed[each.Input] = true
	}
	left := slices.DeleteFunc(operations, func(each *operation) bool { return placed[each] })
	stuck := slices.MinFunc(left, func(one, other *operation) int { return int(one.Return - other.Return) })
	return verdict{name, result, stuck}
}

// read returns operations by their name, or why it cannot.
func read(from io.Reader) (map[string][]*operation, error) {
	found := map[string][]*operation{}
	lines := json.NewDecoder(from)
	lines.DisallowUnknownFields()
	for number := 1; ; number++ {
		does := new(operation)
		if err := lines.Decode(does); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("operation %d: %w", number, err)
		}
		known := slices.Contains([]string{"acquire", "release"}, does.Do) &&
			slices.Contains([]string{"exclusive", "shared", "counted"}, does.Mode)
		if !known || does.Token < 1 || does.Return < does.Call {
			return nil, fmt.Errorf("operation %d makes no sense: %+v", number, *does)
		}
		found[does.Name] = append(found[does.Name], does)
	}
}

func main() {
	twins := flag.Bool("twins", false, "readers may share a token")
	timeout := flag.Duration("timeout", 30*time.Second, "how long to look for the order of a name")
	flag.Parse()
	// What takes zero as its timeout takes for ever.
	if *timeout <= 0 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	found, err := read(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	verdicts := make(chan verdict)
	for name, operations := range found {
		go func() { verdicts <- check(name, operations, *twins, *timeout) }()
	}
	code := 0
	out := json.NewEncoder(os.Stdout)
	for range found {
		each := <-verdicts
		if each.Result == porcupine.Ok {
			continue
		}
		code = 1
		if err := out.Encode(each); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 2
		}
	}
	os.Exit(code)
}
