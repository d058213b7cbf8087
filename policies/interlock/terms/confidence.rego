package interlock.rules

default confidence_field := "_flyto_confidence"

confidence_field := input.call.confidence_field

# A tool that declares nothing asks for nothing. What is missing from a declaration could ask for all there is.
default confidence_declared := 100

confidence_declared := input.tool.capability.min_confidence if is_number(input.tool.capability.min_confidence)

else := 0 if count(input.tool.capability) == 0

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

# Who it is, or what the session is for, is not told: it could be any that the settings name.
confidence_raised contains minimum if {
	not effect_told
	some minimum in data.interlock.settings.confidence.minimum_by_effect
}

confidence_raised contains minimum if {
	not principal_told
	some minimum in data.interlock.settings.confidence.minimum_by_principal
}

confidence_raised contains minimum if {
	not roles_told
	some minimum in data.interlock.settings.confidence.minimum_by_role
}

confidence_raised contains minimum if {
	some name, minimum_by_value in data.interlock.settings.confidence.minimum_by_session_label
	not session_says(name)
	some minimum in minimum_by_value
}

effect_told if is_string(input.tool.effect)

principal_told if is_string(input.principal.id)

roles_told if is_array(input.principal.roles)

# Labels are there or not, as who opens the session gives them: without one it could be any.
session_says(label) if is_string(input.session.labels[label])

# What is true of most tools is looked at first.
confidence_needless if {
	input.tool.capability.min_confidence == 0
	no_minimums(data.interlock.settings.confidence)
} else if {
	count(input.tool.capability) == 0
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
