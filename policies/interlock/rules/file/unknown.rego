package interlock.rules.file

# METADATA
# title: Paths that lead nowhere known
# description: A call that takes paths is refused when it is not known where they lead.
# custom:
#   requirements: [PIPE-5, POL-3, POL-4]
findings contains {
	"verdict": "deny",
	"code": "path_unknown",
	"message": sprintf("it is not known where the path leads%s", [problem_shown]),
	"rule": "file/unknown",
} if {
	not told
}

default problem_shown := ""

problem_shown := concat("", [": ", problem]) if problem := input.call.facts.error
