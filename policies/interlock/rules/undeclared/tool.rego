package interlock.rules

# METADATA
# title: Undeclared tools
# description: |
#   A tool that declares nothing, or whose declaration nobody has confirmed, is taken as destructive and open to the
#   world: a person decides.
# custom:
#   requirements: [TOOL-1, TOOL-2, TOOL-3]
declared_findings contains {
	"verdict": "checkpoint",
	"code": "undeclared_tool",
	"message": "the tool does not declare what it does, or nobody has confirmed it",
	"rule": "undeclared/tool",
} if {
	not declared
}
