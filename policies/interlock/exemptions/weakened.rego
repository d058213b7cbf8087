package interlock

# METADATA
# title: Exemptions
# description: |
#   What the rules found, with the findings that an exemption covers as weak as it makes them. Nothing else in an overlay
#   loosens a decision. Their obligations stay.
# custom:
#   requirements: [POL-2]
findings := found if count(exempted) == 0

else := (found - {finding | some [finding, _] in exempted}) | {object.union(finding, {"verdict": becomes}) |
	some [finding, [_, id]] in exempted
	becomes := data.interlock.exemptions.entries[id].becomes
}

# Each finding that is exempted, with what weakens it most.
exempted := [] if data.interlock.exemptions.by_rule == {}

else := [[finding, min(weaker)] |
	some finding in found
	rule := finding.rule
	not never_exempted(rule)
	weaker := {[strictness[entry.becomes], id] |
		some id in exemptions_to_look_at(data.interlock.exemptions.by_rule[rule])
		entry := data.interlock.exemptions.entries[id]
		strictness[entry.becomes] < strictness[finding.verdict]
		in_force(entry)
		data.interlock.scope.covers(entry.scope, rule)
	}
	count(weaker) > 0
]

never_exempted(rule) if data.interlock.exemptions.never[rule]

strictness := {"none": 0, "allow": 1, "preview": 2, "checkpoint": 3, "reflect": 4, "deny": 5}

# Those of a rule that may cover this call, found without a search.
exemptions_to_look_at(of_rule) := {id |
	some matcher, shelf in of_rule
	some key in data.interlock.scope.keys(matcher)
	some id in shelf[key]
}

# A call whose time is not known comes after the end of every exemption.
in_force(entry) if {
	is_number(input.call.time_unix_s)
	is_number(entry.expires_unix_s)
	input.call.time_unix_s < entry.expires_unix_s
}

# Each exemption that changed the decision: without it there would be another verdict, or one reason more.
exemptions_used contains used if {
	some [finding, [_, id]] in exempted
	mattered(finding.verdict)
	entry := data.interlock.exemptions.entries[id]
	used := {
		"id": id,
		"rule": finding.rule,
		"scope": entry.scope_text,
		"reason": entry.reason,
		"owner": entry.owner,
		"expires": entry.expires,
	}
}

exemption_notes contains note if {
	some [finding, [_, id]] in exempted
	mattered(finding.verdict)
	entry := data.interlock.exemptions.entries[id]
	note := sprintf("exemption %s (%s): %s %s becomes %s until %s", [
		id, entry.owner, finding.rule, finding.verdict, entry.becomes, entry.expires,
	])
}

mattered(verdict_found) if verdict_found == verdict

mattered(verdict_found) if {
	strictness[verdict_found] > strictness[verdict]
	not granted(verdict_found)
}

# A person has approved what the rule asked for.
granted(verdict_found) if {
	approved
	verdict_found in {"checkpoint", "preview"}
}
