package interlock.rules.bash

# METADATA
# title: Patterns that may stand for anything
# description: |
#   A person decides about a pattern of file names that may stand for a secret, or through which something is written,
#   unless the gateway sees all of the files that it stands for.
# custom:
#   requirements: [PIPE-5, POL-4]
hazard_findings contains {
	"verdict": "checkpoint",
	"code": "bash_pattern",
	"message": sprintf("it is not known which files a pattern stands for: %s; write their names out", [data.interlock.rules.shown(open_patterns)]),
	"rule": "bash/patterns",
} if {
	count(open_patterns) > 0
}

open_patterns contains object.get(path, "given", "a pattern") if {
	some path in script.paths
	path.glob
	not settled(path)
}

open_patterns contains object.get(path, "given", "a pattern") if {
	some path in script.paths
	written_by_pattern(path)
}
