package interlock.rules

default confidence_field := "_flyto_confidence"

confidence_field := input.call.confidence_field

default confidence_declared := 0

confidence_declared := input.tool.capability.min_confidence if is_number(input.tool.capability.min_confidence)

else := 100 if _ = input.tool.capability.min_confidence

confidence_required := confidence_declared if no_minimums(data.interlock.settings.confidence)

else := max({confidence_declared} | confidence_raised)

no_minimums(settings) if {
	settings == {
		"minimum_by_effect": {},
		"minimum_by_principal": {},
		"minimum_by_role": {},
		"minimum_by_session_label": {},
	}
}

confidence_raised contains data.interlock.settings.confidence.minimum_by_effect[input.tool.effect]

confidence_raised contains data.interlock.settings.confidence.minimum_by_principal[input.principal.id]

confidence_raised contains minimum if {
	some role in input.principal.roles
	minimum := data.interlock.settings.confidence.minimum_by_role[role]
}

confidence_raised contains minimum if {
	some name, minimum_by_value in data.interlock.settings.confidence.minimum_by_session_label
	minimum := minimum_by_value[input.session.labels[name]]
}

# What is true of most tools is looked at first.
confidence_needless if {
	object.get(input.tool.capability, "min_confidence", 0) == 0
	no_minimums(data.interlock.settings.confidence)
}

# What is shown of the two numbers. OPA and the embedded engine write very small and very large ones differently.
confidence_asked := "more than 100" if confidence_required > 100

else := "less than 0.001" if confidence_required < 0.001

else := sprintf("%v", [confidence_required])

confidence_given := "more than 100" if input.call.confidence > 100

else := sprintf("%v", [input.call.confidence]) if input.call.confidence >= 0.001

else := "0" if input.call.confidence == 0

else := "less than 0.001"
