package interlock.rules

# Rules that the settings call for, and those about what a session has read, are asked only about calls that one of them
# can concern: to find out about all of them together costs as much as to find out about one.
findings contains finding if {
	not of_no_concern
	some finding in concerned_findings
}

of_no_concern if {
	input.session.taints == []
	input.tool.open_world == false
	classless
	settings := data.interlock.settings
	settings.taint.by_tool == {}
	settings.taint.by_label == {}
	settings.sequence.rules == {}
	settings.rate == {"by_effect": {}, "by_tool": {}, "calls": {}, "destructive": {}}
	settings.time == {"freezes": {}, "windows": {}}
	settings.redaction == {"by_class": {}, "by_session_label": {}, "by_tool": {}}
}

concerned_findings contains finding if {
	some limits in data.interlock.settings.rate
	limits != {}
	some finding in rate_findings
}

concerned_findings contains finding if {
	data.interlock.settings.sequence.rules != {}
	some finding in sequence_findings
}

concerned_findings contains finding if {
	some windows in data.interlock.settings.time
	windows != {}
	some finding in time_findings
}

concerned_findings contains finding if {
	some pointers in data.interlock.settings.redaction
	pointers != {}
	some finding in redaction_findings
}

concerned_findings contains finding if {
	not unmarked
	some finding in taint_findings
}

unmarked if input.session.taints == []

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

harmless_by_code(code) if endswith(code, "read_only")

harmless_by_code(code) if endswith(code, "_routine")

# It can be taken back, before or after it has been previewed.
recoverable if input.tool.capability.reversible == true

# Whether a call is one of those that the settings name. A field that is missing is taken for one that fits.
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
	name := input.tool.name
	not name in tools
}

misses_providers(which) if {
	providers := which.providers
	provider := input.tool.provider
	not provider in providers
}

misses_effects(which) if {
	effects := which.effects
	effect := input.tool.effect
	not effect in effects
}

misses_classes(which) if {
	classes := which.classes
	class := input.tool.metadata.permission_class
	not class in classes
}

misses_labels(which) if {
	labels := input.call.labels
	some label, values in which.labels
	not one_of_these(labels, label, values)
}

misses_session_labels(which) if {
	labels := input.session.labels
	some label, values in which.session_labels
	not one_of_these(labels, label, values)
}

one_of_these(labels, label, values) if labels[label] in values
