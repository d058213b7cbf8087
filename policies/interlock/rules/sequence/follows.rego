package interlock.rules

# METADATA
# title: What follows needs a person
# description: |
#   After a call that the settings name, another one that they name needs a person, or is denied, for the rest of the
#   session. A call that can be previewed is asked about at apply; what takes an operation back is not held up.
# custom:
#   requirements: [POL-3, POL-4]
sequence_findings contains {
	"verdict": restriction(sequence, "checkpoint"),
	"code": "sequence",
	"message": sprintf("%s follows what it may not follow without a person (%s)", [tool_name, name]),
	"rule": "sequence/follows",
} if {
	some name, sequence in data.interlock.settings.sequence.rules
	fits(sequence.then)
	not undoing
	not sequence_unbegun(name)
}

sequence_unbegun(name) if {
	taints := input.session.taints
	is_array(taints)
	mark := sequence_mark(name)
	not mark in taints
}
