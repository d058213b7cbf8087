package interlock.rules

# Rules that can have something to say about some calls only are asked only about those: a rule that is asked for nothing
# costs two microseconds, one that others refer to five, a comparison with the input a third of one.

# Most calls have nothing unusual about them, which is seen in two rules. That none of those passed over would say
# anything is held by tests/parity/test_usual_calls.py.
findings contains finding if {
	some finding in {found | not usual; some found in unusual_findings}
}

# Rules about calls that may change something.
findings contains finding if {
	not read_only
	some finding in change_findings
}

# Those about changes whose permission class has no rules of its own.
change_findings contains finding if {
	not owned
	some finding in general_findings
}

unusual_findings contains finding if {
	some finding in {found | not usually_declared; some found in declared_findings}
}

# Rules about the confidence that a call states.
unusual_findings contains finding if {
	not confidence_needless
	confidence_required > 0
	some finding in confidence_findings
}

# It has nothing to state, no settings and no past of the session could make a difference, and its tool asks for nobody.
usual if {
	input.tool.capability.min_confidence == 0
	input.session.taints == []
	input.tool.open_world == false
	settings := data.interlock.settings
	class := input.tool.metadata.permission_class
	not settings.taint.by_class[class]
	settings.taint.by_tool == {}
	settings.taint.by_label == {}
	idle(settings)
	no_minimums(settings.confidence)
	usually_declared
}

# A tool as it was accepted, that asks for nobody; and a call about which is known what its class has to know.
usually_declared if {
	input.tool.declared == true
	input.tool.pin_state == "pinned"
	input.tool.effect in {"read_only", "mutating", "destructive"}
	input.tool.metadata.requires_checkpoint == false
	input.tool.metadata.requires_reverse_thinking == false
	input.call.facts.extracted == true
	input.call.facts.class == input.tool.metadata.permission_class
	input.call.kind in {"call", "undo", "edit"}
}
