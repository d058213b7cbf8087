package interlock.custom

# METADATA
# title: Drafts only
# description: |
#   Agents change files under drafts/ and nowhere else. What is allowed is spelled out and the rest is denied, so that a
#   call of which too little is known is denied as well.
findings contains {
	"verdict": "deny",
	"code": "not_a_draft",
	"message": "agents change files under drafts/ only",
	"rule": "custom/drafts_only",
} if {
	not data.interlock.rules.read_only
	not no_file_tool
	not among_drafts
}

no_file_tool if input.call.facts.class != "file"

among_drafts if {
	count(input.call.facts.file.arguments) > 0
	every path in input.call.facts.file.arguments {
		path.inside
		path.segments[0] == "drafts"
	}
}
