package interlock.rules

# METADATA
# title: Changes that can be undone
# description: A declared change inside that can be undone is allowed; the settings say whether destruction is too.
# custom:
#   requirements: [POL-4]
general_findings contains {
	"verdict": reversible_verdict,
	"code": "reversible",
	"message": sprintf("%s can be undone", [tool_name]),
	"rule": "generic/reversible",
} if {
	declared
	input.tool.safety_level == 1
	input.tool.external_effect == false
}

reversible_verdict := "allow" if input.tool.effect == "mutating"

else := data.interlock.settings.generic.reversible_destruction if input.tool.effect == "destructive"
