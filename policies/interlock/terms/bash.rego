package interlock.rules.bash

# What the script runs, when all of it was understood.
script := input.call.facts.bash if {
	input.call.facts.class == "bash"
	input.call.facts.extracted == true
	input.call.facts.bash.parse_error == false
}

# All is told that rules look at, and what is not told could be anything.
told if {
	found := script
	is_array(found.hazards)
	is_array(found.commands)
	is_array(found.writes)
	is_array(found.paths)
	is_array(found.searches)
	every command in found.commands {
		command_told(command)
	}
	every path in found.paths {
		path_told(path)
	}
}

command_told(command) if {
	name_told(command)
	type_name(command.subcommand) in {"string", "null"}
	_ = command.interprets
	is_array(command.argv)
	is_array(command.flags)
	is_array(command.operands)
	is_boolean(command.implied)
	is_boolean(command.stdin_script)
	is_string(command.stdin)
}

# A name that is known at run time only is refused by another rule.
name_told(command) if {
	is_string(command.name)
} else if {
	command.dynamic_name == true
}

path_told(path) if {
	type_name(path.command) in {"number", "null"}
	_ = path.normalised
	is_string(path.role)
	is_string(path.given)
	glob_told(path)
}

glob_told(path) if {
	path.glob == false
} else if {
	path.glob == true
	pattern_told(path.pattern)
}

pattern_told(pattern) if pattern == null

else if {
	is_array(pattern.matches)
	is_array(pattern.links)
}

# What is the matter with few scripts is looked for only in those with something about them that can matter. That no rule
# passed over would say anything is held by tests/parity/test_usual_calls.py.
findings contains finding if {
	some finding in {found | not tame; some found in hazard_findings}
}

# Every word of it is written down, no command is on a list of those to look out for, everything lies inside, and
# nothing is named like a secret.
tame if {
	found := script
	found.dynamic_name == false
	found.hazards == []
	quiet_searches
	every command in found.commands {
		command.interprets == null
		command.implied == false
		command.stdin_script == false
	}
	settings := data.interlock.settings.bash
	lists := [settings.destructive, settings.privilege, settings.package_managers]
	count([name | some [name, _] in known; some list in lists; _ = list[name]]) == 0
	every write in found.writes {
		write.inside == true
	}
	no_secret_words
	files := data.interlock.settings.file
	every path in found.paths {
		path.inside == true
		path.glob == false
		is_string(path.normalised)
		not secret_path(files, path)
	}
}

secret_path(list, path) if {
	secret_text(list, path.normalised)
} else if {
	not shows_as_given(path)
	secret_text(list, trim(path.given, `"'`))
}

shows_as_given(path) if {
	is_string(path.normalised)
	endswith(path.normalised, path.given)
}

placed(path) if is_string(path.normalised)

secret_text(list, text) if {
	is_string(text)
	segments := split(lower(text), "/")
	data.interlock.rules.file.secret(list, segments[count(segments) - 1], segments)
}

# The name under which the settings know a command: its program, its program and subcommand, or the part of its name
# before a dot (`mkfs.ext4`).
known_as(command) := {command.name, parts[0], full} if {
	is_string(command.subcommand)
	is_string(command.name)
	parts := split(command.name, ".")
	full := concat(" ", [command.name, command.subcommand])
} else := {command.name, parts[0]} if {
	is_string(command.name)
	parts := split(command.name, ".")
}

# Each command under each of its names.
known := [[name, command] |
	some command in script.commands
	some name in known_as(command)
]

# The commands that are on a list, with the options and operands that the list means.
listed(list) := {command |
	some [name, command] in known
	condition := list[name]
	condition_holds(command, condition)
}

condition_holds(command, condition) if {
	not condition.flags
	not condition.operands
	not condition.unless_first
} else if {
	given_any(command, condition.flags)
} else if {
	some operand in command.operands
	one_of(operand, condition.operands)
} else if {
	condition.unless_first
	not begins_with(command, condition.unless_first)
}

begins_with(command, words) if command.operands[0] in words

# An operand is one of those listed, or begins with what stands before a `*`.
one_of(operand, patterns) if {
	operand in patterns
} else if {
	is_string(operand)
	some pattern in patterns
	endswith(pattern, "*")
	startswith(operand, trim_suffix(pattern, "*"))
}

# One of these options is given. GNU programs take a long option also when only its beginning is given.
given_any(command, flags) if {
	some given in command.flags
	means_one_of(given, flags)
}

means_one_of(given, flags) if {
	given in flags
} else if {
	startswith(given, "--")
	some flag in flags
	startswith(flag, given)
}

# Commands as a person would recognise them, not more than a few.
commands_shown(commands) := concat("; ", array.slice(sort({command.text | some command in commands}), 0, 5))
