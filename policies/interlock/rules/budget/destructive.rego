package interlock.rules

# METADATA
# title: The budget of destruction
# description: |
#   After so many destructive calls in a session, or of a principal in a day, a person decides about each further one. A
#   call that can be previewed is asked about at apply, with the preview at hand; one that its class lets through is not
#   concerned, whatever else its tool can do, and neither is what takes an operation back.
# custom:
#   requirements: [POL-3, POL-4]
change_findings contains {
	"verdict": data.interlock.settings.budget.verdict,
	"code": "budget_exceeded",
	"message": sprintf("%s can destroy, and there were many such calls: at most %v %s without a person", [
		tool_name,
		most,
		span,
	]),
	"rule": "budget/destructive",
} if {
	not input.tool.effect == "read_only"
	not input.tool.effect == "mutating"
	not within_budgets
	not input.call.kind == "undo"
	not external_effect_previewed
	some [span, most] in spent_budgets
	not class_reads
}

harmless if input.tool.effect in {"read_only", "mutating"}

# What nearly always holds, seen in one rule.
within_budgets if {
	budget := data.interlock.settings.budget
	input.session.counters.destructive_calls < budget.destructive_per_session
	input.principal.recent.destructive.day < budget.destructive_per_day
}

spent_budgets contains ["in a session", most] if {
	most := data.interlock.settings.budget.destructive_per_session
	not spent_less_in_session(most)
}

spent_budgets contains ["in a day", most] if {
	most := data.interlock.settings.budget.destructive_per_day
	not spent_less_in_day(most)
}

spent_less_in_session(most) if input.session.counters.destructive_calls < most

spent_less_in_day(most) if input.principal.recent.destructive.day < most
