package interlock

# METADATA
# title: Obligations
# description: What the rules ask the gateway to do along with the verdict; where they differ, the stricter holds.
# custom:
#   requirements: [POL-2]
obligations := {} if count(duties) == 0

else := only if {
	count(duties) == 1
	some only in duties
}

else := merged

duties := {finding.obligations | some finding in findings}

# Whatever any rule takes away, hides or taints.
merged[name] := values if {
	some name in {"strip", "redact", "taint"}
	values := sort({value | some duty in duties; some value in duty[name]})
	count(values) > 0
}

# The least limit.
merged[name] := min(values) if {
	some name in {"max_result_bytes", "timeout_s", "expires_s"}
	values := said_of(name)
	count(values) > 0
}

# What is not said takes nothing from what is: null comes before every number.
said_of(name) := {value |
	some duty in duties
	value := duty[name]
	value != null
}

# The greatest number of people, and the longest time before others than they are asked.
merged[name] := max(values) if {
	some name in {"quorum", "escalate_after_s"}
	values := said_of(name)
	count(values) > 0
}

# Fewer approvers is stricter: only those whom every rule accepts.
merged[name] := sort(intersection(approver_groups)) if {
	some name in {"approvers"}
	count(approver_groups) > 0
}

# Nor is anybody asked later whom one rule leaves out.
merged[name] := later if {
	some name in {"escalate_to"}
	some duty in duties
	duty.escalate_to
	later := sort(intersection(accepted_groups) - intersection(approver_groups))
	count(later) > 0
}

# Every change, when no two rules want different values of one field.
merged[name] := {field: value | some field, values in changes; some value in values} if {
	some name in {"set"}
	count(changes) > 0
	count(conflicting_fields) == 0
}

approver_groups := {groups |
	some duty in duties
	groups := {group | some group in duty.approvers}
	duty.approvers
}

# Whom each rule that names anybody accepts in the end.
accepted_groups := {groups |
	some duty in duties
	groups := {group | some name in {"approvers", "escalate_to"}; some group in duty[name]}
	count(groups) > 0
}

changes[field] contains value if {
	some duty in duties
	some field, value in duty.set
}

conflicting_fields := {field | some field, values in changes; count(values) > 1}

# Obligations that cannot be met together.
contradictions := set() if count(duties) < 2

else := no_common_approver | conflicting_changes

no_common_approver contains {
	"code": "no_common_approver",
	"message": "policy rules ask for approvers who have nobody in common",
	"rule": "interlock/obligations",
} if {
	count(approver_groups) > 0
	count(intersection(approver_groups)) == 0
}

conflicting_changes contains {
	"code": "conflicting_changes",
	"message": sprintf("policy rules ask for different values of %s", [concat(", ", conflicting_fields)]),
	"rule": "interlock/obligations",
} if {
	count(conflicting_fields) > 0
}
