package interlock.scope

# Whether a scope covers this call: every matcher that is given matches. What is not known is not covered.
covers(scope, rule) if {
	count(scope) > 0
	every matcher, wanted in scope {
		matches(matcher, wanted, rule)
	}
}

matches("everything", wanted, _) if wanted == true

matches("principals", wanted, _) if wanted[input.principal.id]

matches("roles", wanted, _) if {
	some role in input.principal.roles
	wanted[role]
}

matches("groups", wanted, _) if {
	some group in input.principal.groups
	wanted[group]
}

matches("tools", wanted, _) if wanted[input.tool.name]

matches("providers", wanted, _) if wanted[input.tool.provider]

matches("effects", wanted, _) if wanted[input.tool.effect]

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

named(command, wanted) if wanted[command.name]

named(command, wanted) if {
	is_string(command.subcommand)
	wanted[sprintf("%s %s", [command.name, command.subcommand])]
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

# The path, with links followed, is one of those wanted or lies below one.
below(argument, wanted) if {
	some end in numbers.range(1, count(argument.segments))
	wanted[concat("/", array.slice(argument.segments, 0, end))]
}
