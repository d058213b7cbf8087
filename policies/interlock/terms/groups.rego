package interlock.rules

# Rules that can have something to say about some calls only are asked only about those: a rule that is passed over costs
# nothing, and one that is asked for nothing costs two microseconds.

# Rules about calls that may change something.
findings contains finding if {
	not read_only
	some finding in change_findings
}

# Rules about the confidence that a call states.
findings contains finding if {
	confidence_gate
	some finding in confidence_findings
}
