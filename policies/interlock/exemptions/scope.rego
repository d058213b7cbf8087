package interlock.scope

# Whether a scope covers this call: every matcher that is given matches. What is not known is not covered.
covers(scope, rule) if {
	count(scope) > 0
	every matcher, wanted in scope {
		matches(matcher, wanted, rule)
	}
}

matches("everything", wanted, _) if wanted == true

matches(matcher, wanted, _) if {
	matcher in {"principals", "roles", "groups", "tools", "providers", "effects"}
	some key in keys(matcher)
	wanted[key]
}

matches("session_labels", wanted, _) if {
	every label, values in wanted {
		values[input.session.labels[label]]
	}
}

matches("domains", wanted, _) if {
	facts_of("webfetch")
	count(input.call.facts.webfetch.urls) > 0
	every url in input.call.facts.webfetch.urls {
		url.error == null
		url.hazards == []
		some domain in url.domains
		wanted[domain]
	}
}

matches("commands", wanted, rule) if {
	facts_of("bash")
	written_out
	commands := commands_of(rule)
	count(commands) > 0
	every command in commands {
		plain(command)
		named(command, wanted)
	}
}

matches("paths", wanted, _) if {
	facts_of("file")
	count(input.call.facts.file.arguments) > 0
	every argument in input.call.facts.file.arguments {
		argument.inside == true
		argument.error == null
		argument.glob == false
		below(argument, wanted)
	}
}

matches("tables", wanted, rule) if {
	facts_of("sql")
	input.call.facts.sql.parse_error == false
	input.call.facts.sql.dynamic == false
	count(input.call.facts.sql.statements) > 0
	every statement in input.call.facts.sql.statements {
		about_tables(statement, rule)
		tables := array.concat(statement.reads, statement.writes)
		count(tables) > 0
		every table in tables {
			wanted[table.qualified]
		}
	}
}

facts_of(class) if {
	input.call.facts.class == class
	input.call.facts.extracted == true
}

# All of the script stands there, and nothing in it changes what a command's name means.
written_out if {
	script := input.call.facts.bash
	script.parse_error == false
	script.dynamic == false
	script.hazards == []
	script.assignments == []
	script.functions == []
	script.aliases == []
}

# A command that is run by its name, as it stands, and not through another.
plain(command) if {
	command.argv[0] == command.name
	command.env == []
	command.wrappers == []
	command.implied == false
	command.moved == false
	command.interprets == null
}

named(command, wanted) if {
	some name in names(command)
	wanted[name]
}

names(command) := {command.name, sprintf("%s %s", [command.name, command.subcommand])} if {
	is_string(command.name)
	is_string(command.subcommand)
} else := {command.name} if {
	is_string(command.name)
}

# The commands that a finding is about.
commands_of("bash/destructive") := data.interlock.rules.bash.destroying

commands_of("bash/privilege") := data.interlock.rules.bash.privileged

commands_of("bash/packages") := data.interlock.rules.bash.packaging

# Any other may be about everything in the script: what it reads lies inside, it writes no file, and the commands are
# those that are not known to only read.
commands_of(rule) := {command |
	some command in input.call.facts.bash.commands
	not data.interlock.rules.bash.reading(command)
} if {
	not rule in {"bash/destructive", "bash/privilege", "bash/packages"}
	every path in input.call.facts.bash.paths {
		data.interlock.rules.bash.plain(path)
	}
	every write in input.call.facts.bash.writes {
		write.location == "stream"
	}
}

# A statement does nothing but read or change its tables, or what else it does is for other rules to say.
about_tables(statement, rule) if {
	statement.problem == null
	statement.files == false
	statement.programs == false
	of_tables(statement)
	functions_left_out(statement, rule)
}

of_tables(statement) if statement.effect in {"read", "write"}

of_tables(statement) if statement.object == "table"

of_tables(statement) if statement.kind == "truncate"

functions_left_out(statement, _) if statement.functions == []

functions_left_out(_, rule) if rule in {"sql/destructive", "sql/tables", "sql/unconditional"}

# The path, with links followed, is one of those wanted or lies below one.
below(argument, wanted) if {
	some path in paths_to(argument)
	wanted[path]
}

paths_to(argument) := [concat("/", array.slice(argument.segments, 0, end)) |
	some end in numbers.range(1, count(argument.segments))
]

# Under what the exemptions are found that may cover this call, by the matcher they are filed under. One that covers
# everything that is called covers the first of it, or any.
keys(matcher) := {input.principal.id} if matcher == "principals"

keys(matcher) := {role | some role in input.principal.roles} if matcher == "roles"

keys(matcher) := {group | some group in input.principal.groups} if matcher == "groups"

keys(matcher) := {input.tool.name} if matcher == "tools"

keys(matcher) := {input.tool.provider} if matcher == "providers"

keys(matcher) := {input.tool.effect} if matcher == "effects"

keys(matcher) := {domain | some domain in input.call.facts.webfetch.urls[0].domains} if matcher == "domains"

keys(matcher) := {name |
	some command in input.call.facts.bash.commands
	some name in names(command)
} if {
	matcher == "commands"
}

keys(matcher) := {path | some path in paths_to(input.call.facts.file.arguments[0])} if matcher == "paths"

keys(matcher) := {table.qualified |
	some name in ["reads", "writes"]
	some table in input.call.facts.sql.statements[0][name]
} if {
	matcher == "tables"
}

keys(matcher) := {""} if matcher == "any"
