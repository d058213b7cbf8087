package interlock.rules.bash

# METADATA
# title: Scripts that cannot be read
# description: A script that was not understood as a whole, or of which not all is told, may do anything.
# custom:
#   requirements: [PIPE-5, POL-3, POL-4]
findings contains {
	"verdict": "deny",
	"code": "bash_unreadable",
	"message": sprintf("the command could not be understood%s; write it in a simpler way", [problem_shown]),
	"rule": "bash/unreadable",
} if {
	not told
}

default problem_shown := ""

problem_shown := concat("", [": ", problem]) if problem := input.call.facts.bash.errors[0]

else := concat("", [": ", problem]) if problem := input.call.facts.error
