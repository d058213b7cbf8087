package interlock.rules

# METADATA
# title: A sequence begins
# description: |
#   A call after which others need a person marks its session. The mark is kept like a taint: for as long as the session
#   lives, and on disk before the call's result is read.
# custom:
#   requirements: [POL-4]
sequence_findings contains {
	"verdict": "none",
	"rule": "sequence/begun",
	"obligations": {"taint": [sequence_mark(name)]},
} if {
	some name, sequence in data.interlock.settings.sequence.rules
	fits(sequence.after)
	not sequence_already_begun(name)
}

sequence_already_begun(name) if sequence_mark(name) in input.session.taints

sequence_mark(name) := sprintf("sequence:%s", [name])
