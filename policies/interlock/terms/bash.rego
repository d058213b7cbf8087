package interlock.rules.bash

# What the script runs, when all of it was understood.
script := input.call.facts.bash if {
	input.call.facts.class == "bash"
	input.call.facts.extracted == true
	input.call.facts.bash.parse_error == false
}

# The name under which the settings know a command: its program, its program and subcommand, or the part of its name
# before a dot (`mkfs.ext4`).
known_as(command) := {command.name, stem, full} if {
	is_string(command.name)
	is_string(command.subcommand)
	stem := split(command.name, ".")[0]
	full := concat(" ", [command.name, command.subcommand])
} else := {command.name, split(command.name, ".")[0]} if {
	is_string(command.name)
}

# Each command under each of its names.
known := [[name, command] |
	some command in script.commands
	some name in known_as(command)
]

# The commands that are on a list, with the options and operands that the list means.
listed(list) := {command |
	some [name, command] in known
	condition_holds(command, list[name])
}

condition_holds(_, condition) if {
	not condition.flags
	not condition.operands
	not condition.unless_first
}

condition_holds(command, condition) if given_any(command, condition.flags)

condition_holds(command, condition) if {
	some operand in command.operands
	one_of(operand, condition.operands)
}

condition_holds(command, condition) if {
	condition.unless_first
	not begins_with(command, condition.unless_first)
}

begins_with(command, words) if command.operands[0] in words

# An operand is one of those listed, or begins with what stands before a `*`.
one_of(operand, patterns) if operand in patterns

one_of(operand, patterns) if {
	is_string(operand)
	some pattern in patterns
	endswith(pattern, "*")
	startswith(operand, trim_suffix(pattern, "*"))
}

given_any(command, flags) if {
	some flag in flags
	flag in command.flags
}

# GNU programs take a long option also when only its beginning is given.
given_any(command, flags) if {
	some given in command.flags
	startswith(given, "--")
	some flag in flags
	startswith(flag, given)
}

# Commands as a person would recognise them, not more than a few.
commands_shown(commands) := concat("; ", array.slice(sort({command.text | some command in commands}), 0, 5))
