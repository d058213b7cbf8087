package interlock.rules

# METADATA
# title: What results do not show
# description: The settings name parts of results that are masked, by tool, permission class and label of the session.
# custom:
#   requirements: [POL-3, POL-4]
redaction_findings contains {
	"verdict": "none",
	"rule": "redaction/results",
	"obligations": {"redact": sort(masked_pointers)},
} if {
	count(masked_pointers) > 0
}

masked_pointers contains pointer if {
	some pointer in data.interlock.settings.redaction.by_tool[input.tool.name]
}

masked_pointers contains pointer if {
	some pointer in data.interlock.settings.redaction.by_class[input.tool.metadata.permission_class]
}

masked_pointers contains pointer if {
	some label, pointers_by_value in data.interlock.settings.redaction.by_session_label
	some pointer in pointers_by_value[input.session.labels[label]]
}

# Nobody knows which of them holds.
masked_pointers contains pointer if {
	not input.tool.name
	some pointers in data.interlock.settings.redaction.by_tool
	some pointer in pointers
}

masked_pointers contains pointer if {
	not input.tool.metadata
	some pointers in data.interlock.settings.redaction.by_class
	some pointer in pointers
}

masked_pointers contains pointer if {
	not input.session.labels
	some pointers_by_value in data.interlock.settings.redaction.by_session_label
	some pointers in pointers_by_value
	some pointer in pointers
}
