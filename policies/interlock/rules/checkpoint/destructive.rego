package interlock.rules

# METADATA
# title: Destruction without a way back
# description: |
#   A destructive call that can be neither previewed nor undone needs a person. What undoes an operation is left to the
#   rule about that.
# custom:
#   requirements: [CHK-1, POL-3]
general_findings contains {
	"verdict": "checkpoint",
	"code": "checkpoint_required",
	"message": sprintf("%s is destructive and can be neither previewed nor undone", [tool_name]),
	"rule": "checkpoint/destructive",
} if {
	input.tool.effect == "destructive"
	not input.tool.safety_level == 2
	not input.tool.safety_level == 1
	not input.call.kind == "undo"
}
