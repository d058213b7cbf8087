package interlock.rules

# METADATA
# title: Preview first
# description: |
#   A call that can be previewed and is not read-only is previewed before it is applied. An undo is not: its input is
#   what the journal holds, and nobody has to look at it again.
# custom:
#   requirements: [PREV-1]
change_findings contains {
	"verdict": "preview",
	"code": "preview_required",
	"message": sprintf("%s is previewed first", [tool_name]),
	"rule": "preview/required",
} if {
	input.tool.safety_level == 2
	not applying
	not input.call.kind == "undo"
}
