package interlock_test

named := {"revision": "r1", "profile": "standard", "enforced": true}

test_response_names_the_policy_that_decided if {
	response := data.interlock.response with data.interlock.rules.findings as set()
		with data.interlock.custom.findings as set()
		with data.interlock.revision as named.revision
		with data.interlock.profile as named.profile
		with data.interlock.enforced as named.enforced
	response.policy == named
	response.decision.verdict == "deny"
}

# The directory by itself has no revision: who builds a bundle puts it into the data.
test_response_names_no_policy_when_the_data_lacks_the_revision if {
	not data.interlock.response.policy with data.interlock.rules.findings as set()
		with data.interlock.profile as named.profile
		with data.interlock.enforced as named.enforced
}
