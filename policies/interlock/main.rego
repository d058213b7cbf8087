package interlock

default decision := {
	"verdict": "deny",
	"reasons": [{
		"code": "no_rule_allows",
		"message": "no rule allows this call",
		"rule": "interlock/default",
	}],
	"obligations": {},
	"notes": [],
}

# METADATA
# title: The decision
# description: |
#   Puts the findings of all rules together. The strictest verdict wins, obligations merge to the stricter, and when no
#   rule says anything the answer is deny.
# entrypoint: true
# custom:
#   requirements: [PIPE-6, POL-2]
decision := {
	"verdict": "allow",
	"reasons": [{"code": finding.code, "message": finding.message, "rule": finding.rule}],
	"obligations": {},
	"notes": [],
} if {
	# Most calls: one rule allows, and no other says anything.
	some finding in found
	finding.verdict == "allow"
	found == {{"verdict": "allow", "code": finding.code, "message": finding.message, "rule": finding.rule}}
} else := {
	"verdict": verdict,
	"reasons": reasons,
	"obligations": obligations,
	"notes": sort({finding.note | some finding in found}),
	"exemptions": [],
} if {
	# Of the rest, most: no exemption says anything either.
	exempted == []
} else := {
	"verdict": verdict,
	"reasons": reasons,
	"obligations": obligations,
	"notes": sort({finding.note | some finding in findings} | exemption_notes),
	"exemptions": sort(exemptions_used),
}

# What all rules found, the shipped and the operator's own.
found := data.interlock.rules.findings | own if own := heard(data.interlock.custom.findings)

else := data.interlock.rules.findings

# An operator's own rules make decisions stricter: what no shipped rule allows, none of them can, nor can a person whom
# they would ask (POL-2).
heard(custom) := {oblige_at_most(finding) | some finding in custom} if is_set(custom)

else := {custom}

oblige_at_most(finding) := object.union(finding, {"verdict": "none"}) if finding.verdict == "allow"

else := object.union(finding, {"verdict": "none"}) if {
	finding.verdict in {"preview", "checkpoint", "reflect"}
	not shipped_decide
}

else := finding

shipped_decide if {
	some finding in data.interlock.rules.findings
	finding.verdict != "none"
}

asked := {answer(finding) | some finding in findings}

answer(finding) := finding.verdict if {
	finding.verdict in {"deny", "reflect", "checkpoint", "preview", "allow", "none"}
} else := "malformed"

verdict := "deny" if "deny" in asked

else := "deny" if "malformed" in asked

else := "deny" if count(contradictions) > 0

else := before_thinking if "reflect" in asked

else := "checkpoint" if {
	"checkpoint" in asked
	not approved
}

else := "preview" if {
	"preview" in asked
	not approved
}

else := "allow" if count({"allow", "checkpoint", "preview"} & asked) > 0

# A person may be asked first; the agent thinks once they have approved (REV-4).
before_thinking := "checkpoint" if {
	"checkpoint" in asked
	not approved
	data.interlock.settings.reflection.order == "after_checkpoint"
} else := "reflect"

# A person has approved this very call, after seeing what it would do (CHK-5).
approved if input.call.checkpoint.outcome == "approved"

reasons := array.concat(reasons_to({"deny"}), sort(contradictions | malformed)) if verdict == "deny"

# What a rule asked for and a person has granted is among the reasons to allow.
else := reasons_to({"allow", "checkpoint", "preview"}) if verdict == "allow"

else := reasons_to({verdict})

reasons_to(verdicts) := sort({reason |
	some finding in findings
	finding.verdict in verdicts
	reason := {"code": finding.code, "message": finding.message, "rule": finding.rule}
})

malformed := {reason |
	"malformed" in asked
	reason := {
		"code": "malformed_finding",
		"message": "a policy rule gave an answer that is not a verdict",
		"rule": "interlock/findings",
	}
}
