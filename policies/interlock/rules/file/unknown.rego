package interlock.rules

# METADATA
# title: Paths that lead nowhere known
# description: A call that takes paths is refused when it is not known where they lead.
# custom:
#   requirements: [PIPE-5, POL-3, POL-4]
findings contains {
	"verdict": "deny",
	"code": "path_unknown",
	"message": sprintf("it is not known where the path leads%s", [file_problem]),
	"rule": "file/unknown",
} if {
	file_call
	not file_facts
}

default file_problem := ""

file_problem := concat("", [": ", problem]) if problem := input.call.facts.error
