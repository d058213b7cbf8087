package interlock.rules.sql

# METADATA
# title: Functions of which nothing is known
# description: |
#   A statement that calls a function does whatever the function does. Those that are known to only read are listed in the
#   settings; about others a person decides, or the settings say what is done.
# custom:
#   requirements: [PIPE-5, POL-3, POL-4]
findings contains {
	"verdict": data.interlock.settings.sql.unknown_functions,
	"code": "sql_unknown_function",
	"message": sprintf(
		"it is not known that these functions only read: %s; use the database's own, or ask for them to be listed",
		[data.interlock.rules.shown(unknown_functions)],
	),
	"rule": "sql/unknown",
} if {
	asked_for(data.interlock.settings.sql.unknown_functions)
	query
	not about_no_rows
	count(unknown_functions) > 0
}

# Names before parentheses in other statements are those of what they make, unless there is a query in them. Other rules
# speak of these.
about_no_rows if {
	count(query.effects) > 0
	every effect in query.effects {
		effect in {"schema", "privilege", "transaction", "session", "admin", "code"}
	}
	is_array(query.statements)
	every statement in query.statements {
		without_query(statement)
	}
}

without_query(statement) if {
	is_string(statement.kind)
	not statement.kind in {"select", "with", "values", "table", "explain"}
	is_string(statement.object)
	is_array(statement.verbs)
	every verb in statement.verbs {
		is_string(verb)
		not verb in {"select", "values", "select into"}
	}
	not made_of_anything(statement)
}

# What is made needs nobody, and nothing is told of what it is made of.
made_of_anything(statement) if {
	count(statement.verbs) == 0
	statement.kind == "create"
	is_string(statement.object)
	not statement.object in {"index", "unique"}
	on_list(statement, data.interlock.settings.sql.plain_statements)
}

unknown_functions contains name if {
	calls_told
	some name in query.calls
	not reading_function(name)
	not known_otherwise(name)
}

unknown_functions contains "functions that are not told" if not calls_told

calls_told if is_array(query.calls)

# Another rule speaks of it, and does no less: what is known to do harm is never let off for that.
known_otherwise(name) if data.interlock.settings.sql.reaching_functions[name]

known_otherwise(name) if data.interlock.settings.sql.changing_functions[name]

known_otherwise(name) if {
	data.interlock.settings.sql.evaluating_functions[name]
	not dynamic_is_looser
}

dynamic_is_looser if {
	data.interlock.settings.sql.unknown_functions == "deny"
	data.interlock.settings.sql.dynamic != "deny"
}
