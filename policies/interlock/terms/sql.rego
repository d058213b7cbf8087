package interlock.rules.sql

# What the statements do.
query := input.call.facts.sql if {
	input.call.facts.class == "sql"
	input.call.facts.extracted == true
}

# All of it was understood, and none of it changes anything.
reads_only if {
	query.read_only == true
	query.parse_error == false
	query.dynamic == false
	query.effects == ["read"]
	is_array(query.calls)
	every name in query.calls {
		reading_function(name)
	}
}

# A function of the database itself that only reads, or one of the operator's. A name with a schema is another function
# than one without.
reading_function(name) if {
	data.interlock.settings.sql.reading_functions[name]
} else if {
	data.interlock.settings.sql.own_reading_functions[name]
} else if {
	startswith(name, "pg_catalog.")
	data.interlock.settings.sql.reading_functions[trim_prefix(name, "pg_catalog.")]
} else if {
	startswith(name, "information_schema.")
	data.interlock.settings.sql.reading_functions[trim_prefix(name, "information_schema.")]
}

# The functions that it calls as lists may name them: by themselves, and with their schema where that is given.
called contains name if some name in query.functions

called contains name if {
	is_array(query.calls)
	some name in query.calls
}

# All is told that rules look at, and what is not told could be anything.
told if {
	found := query
	count(found.statements) > 0
	every statement in found.statements {
		is_string(statement.kind)
		is_string(statement.object)
		is_array(statement.reads)
		is_array(statement.writes)
		every table in statement.reads {
			table_told(table)
		}
		every table in statement.writes {
			table_told(table)
		}
	}
}

table_told(table) if {
	is_string(table.name)
	is_string(table.qualified)
}

# Whether it may do more than change rows: more than one thing, or what is not understood.
changes if not reads_only

# What the settings say when a rule has something to say; `allow` says nothing.
asked_for(verdict) if verdict != "allow"

# The names under which the settings know a statement, the most exact first: `drop database`, `drop`.
known_as(statement) := [concat(" ", [statement.kind, statement.object]), statement.kind] if {
	is_string(statement.kind)
	is_string(statement.object)
}

on_list(statement, list) if {
	some name in known_as(statement)
	list[name]
}

# Statements as a person would recognise them, not more than a few.
shown(statements) := concat("; ", array.slice(sort({text_of(statement) | some statement in statements}), 0, 3))

text_of(statement) := statement.text if is_string(statement.text)

else := "a statement"

# A table on a list, by its own name or with its schema.
table_listed(table, list) if list[table.qualified]

table_listed(table, list) if list[table.name]

# The name of a database may stand before that of the schema.
table_listed(table, list) if {
	parts := split(table.qualified, ".")
	some start in numbers.range(0, count(parts) - 1)
	list[concat(".", array.slice(parts, start, count(parts)))]
}
