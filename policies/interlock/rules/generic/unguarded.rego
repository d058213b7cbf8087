package interlock.rules

# METADATA
# title: Changes that can be neither previewed nor undone
# description: A declared change inside, not destructive; the settings say whether it is allowed or a person decides.
# custom:
#   requirements: [POL-4]
general_findings contains {
	"verdict": data.interlock.settings.generic.unguarded_change,
	"code": "unguarded_change",
	"message": sprintf("%s can be neither previewed nor undone", [tool_name]),
	"rule": "generic/unguarded",
} if {
	unguarded
}

unguarded if {
	data.interlock.settings.generic.unguarded_change == "allow"
	input.tool.effect == "mutating"
	declared
	input.tool.external_effect == false
	input.tool.safety_level == 0
}

# What is not told is taken for what the settings speak of, unless that would let it through.
unguarded if {
	data.interlock.settings.generic.unguarded_change != "allow"
	not other_change
}

other_change if input.tool.effect in {"read_only", "destructive", "undeclared"}

other_change if input.tool.declared == false

other_change if input.tool.pin_state in {"changed", "unconfirmed"}

other_change if input.tool.external_effect == true

other_change if input.tool.safety_level in {1, 2}
