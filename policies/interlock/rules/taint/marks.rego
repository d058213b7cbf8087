package interlock.rules

# METADATA
# title: What a session has read
# description: |
#   A call that brings in what strangers may have written marks its session as `untrusted`, because it may hold
#   instructions for the agent; one that brings in what is nobody else's business marks it as `sensitive`. A tool that
#   reaches the open world does the first, unless the rules of its class say that this call only reads here.
# custom:
#   requirements: [POL-3, POL-4]
mark_findings contains {
	"verdict": "none",
	"rule": "taint/marks",
	"obligations": {"taint": sort(new_marks)},
} if {
	count(new_marks) > 0
}

new_marks := marks_earned - {mark | some mark in input.session.taints}

marks_earned contains mark if {
	not closed_world
	some mark in data.interlock.settings.taint.open_world
}

marks_earned contains mark if {
	not no_marks_listed(data.interlock.settings.taint)
	some mark in listed_marks
}

listed_marks contains mark if {
	some mark in data.interlock.settings.taint.by_class[input.tool.metadata.permission_class]
}

listed_marks contains mark if some mark in data.interlock.settings.taint.by_tool[input.tool.name]

listed_marks contains mark if {
	some labels in [input.call.labels, input.session.labels]
	some label, marks_by_value in data.interlock.settings.taint.by_label
	some mark in marks_by_value[labels[label]]
}

# Nobody knows which of them holds.
listed_marks contains mark if {
	not input.tool.metadata
	some marks in data.interlock.settings.taint.by_class
	some mark in marks
}

listed_marks contains mark if {
	not input.tool.name
	some marks in data.interlock.settings.taint.by_tool
	some mark in marks
}

listed_marks contains mark if {
	not labels_known
	some marks_by_value in data.interlock.settings.taint.by_label
	some marks in marks_by_value
	some mark in marks
}

labels_known if {
	is_object(input.call.labels)
	is_object(input.session.labels)
}

closed_world if {
	input.tool.open_world == false
} else if {
	of_class("bash")
	class_reads
	not data.interlock.rules.bash.brings_in
}
