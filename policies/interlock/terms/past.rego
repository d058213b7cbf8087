package interlock.rules

# Rules that the settings call for, and those about what a session has read, are asked only about calls that one of them
# can concern: to find out about all of them together costs as much as to find out about one.
unusual_findings contains finding if {
	not of_no_concern
	some finding in concerned_findings
}

of_no_concern if {
	input.session.taints == []
	input.tool.open_world == false
	settings := data.interlock.settings
	no_marks_listed(settings.taint)
	idle(settings)
}

# Nothing that it brings in is looked at.
nothing_to_mark if {
	closed_world
	no_marks_listed(data.interlock.settings.taint)
} else if {
	# It could bring in nothing but what the session is marked with, as long as the settings are those that ship.
	"untrusted" in input.session.taints
	settings := data.interlock.settings.taint
	settings.open_world == ["untrusted"]
	settings.by_class == {"webfetch": ["untrusted"]}
	settings.by_tool == {}
	settings.by_label == {}
}

# Neither the call's class nor its tool nor a label is among those whose calls mark a session.
no_marks_listed(settings) if {
	class := input.tool.metadata.permission_class
	not settings.by_class[class]
	settings.by_tool == {}
	settings.by_label == {}
}

idle(settings) if {
	settings.sequence.rules == {}
	settings.rate == {"by_effect": {}, "by_tool": {}, "calls": {}, "destructive": {}}
	settings.time == {"freezes": {}, "windows": {}}
	settings.redaction == {"by_class": {}, "by_session_label": {}, "by_tool": {}}
	settings.results == {"max_bytes_by_effect": {}, "max_bytes_by_tool": {}}
}

concerned_findings contains finding if {
	not idle(data.interlock.settings)
	some finding in asked_for_findings
}

concerned_findings contains finding if {
	not nothing_to_mark
	some finding in mark_findings
}

concerned_findings contains finding if {
	not input.session.taints == []
	not stays_inside
	some finding in taint_findings
}

asked_for_findings contains finding if {
	some limits in data.interlock.settings.rate
	limits != {}
	some finding in rate_findings
}

asked_for_findings contains finding if {
	data.interlock.settings.sequence.rules != {}
	some finding in sequence_findings
}

asked_for_findings contains finding if {
	some windows in data.interlock.settings.time
	windows != {}
	some finding in time_findings
}

asked_for_findings contains finding if {
	some pointers in data.interlock.settings.redaction
	pointers != {}
	some finding in redaction_findings
}

asked_for_findings contains finding if {
	some limits in data.interlock.settings.results
	limits != {}
	some finding in result_findings
}

# It was asked about when it was made, and is counted since then: people have looked at it, or the gateway goes on with it.
asked_before if resuming

asked_before if input.call.kind == "edit"

asked_before if input.call.checkpoint.outcome == "approved"

# The rules of its permission class say that this call only reads, or is routine work that neither destroys nor sends
# anything, whatever else its tool can do.
class_reads if {
	not classless
	some finding in class_findings
	finding.verdict == "allow"
	harmless_by_code(finding.code)
}

harmless_by_code(code) if {
	endswith(code, "read_only")
} else if {
	endswith(code, "_routine")
}

# It can be taken back, before or after it has been previewed.
recoverable if input.tool.capability.reversible == true

# What an entry of the settings does with a call. None of them lets one through that would not be.
restriction(entry, otherwise) := verdict if {
	verdict := object.get(entry, "verdict", otherwise)
	verdict in {"checkpoint", "deny"}
} else := "deny"

# Whether a call is one of those that the settings name. A field that is missing is taken for one that fits, and so is
# what cannot be compared with it.
fits(which) if {
	not misses_tools(which)
	not misses_providers(which)
	not misses_effects(which)
	not misses_classes(which)
	not misses_labels(which)
	not misses_session_labels(which)
}

misses_tools(which) if {
	tools := which.tools
	is_array(tools)
	name := input.tool.name
	is_string(name)
	not name in tools
}

misses_providers(which) if {
	providers := which.providers
	is_array(providers)
	provider := input.tool.provider
	is_string(provider)
	not provider in providers
}

misses_effects(which) if {
	effects := which.effects
	is_array(effects)
	effect := input.tool.effect
	is_string(effect)
	not effect in effects
}

misses_classes(which) if {
	classes := which.classes
	is_array(classes)
	class := input.tool.metadata.permission_class
	is_string(class)
	not class in classes
}

misses_labels(which) if {
	labels := input.call.labels
	some label, values in which.labels
	is_array(values)
	not one_of_these(labels, label, values)
}

misses_session_labels(which) if {
	labels := input.session.labels
	some label, values in which.session_labels
	is_array(values)
	session_says(label)
	not one_of_these(labels, label, values)
}

one_of_these(labels, label, values) if labels[label] in values
