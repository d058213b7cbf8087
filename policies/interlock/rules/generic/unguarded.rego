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
	input.tool.effect == "mutating"
	declared
	input.tool.external_effect == false
	not input.tool.safety_level == 2
	not input.tool.safety_level == 1
}
