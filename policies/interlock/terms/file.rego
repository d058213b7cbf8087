package interlock.rules.file

# Where every path leads.
paths := input.call.facts.file if {
	input.call.facts.class == "file"
	input.call.facts.extracted == true
	is_array(input.call.facts.file.patterns)
}

# All is told that rules look at, and what is not told could be anything.
told if {
	found := paths
	is_array(found.arguments)
	every argument in found.arguments {
		is_string(argument.name)
		is_string(argument.given_name)
		is_array(argument.segments)
	}
	every pattern in found.patterns {
		is_string(pattern.given)
	}
}

# Rules about where paths lead and what they name are asked only about calls with such a path: see terms/groups.rego.
findings contains finding if {
	some finding in {found | not plainly_placed; some found in hazard_findings}
}

plainly_placed if {
	found := paths
	found.inside == true
	list := data.interlock.settings.file
	every argument in found.arguments {
		argument.inside == true
		not names_secret(list, argument)
	}
	every pattern in found.patterns {
		not aims_at_secret(list, pattern)
	}
}

# Rules about writing.
findings contains finding if {
	not data.interlock.rules.read_only
	some finding in write_findings
}

# A path's last part, as it leads and as it was given, in lower case.
names(argument) := {lower(argument[key]) | some key in {"name", "given_name"}}

# A file that may hold secrets as `list`, the settings of this class, says: by its name, or the directories it lies in.
# All in lower case.
secret(list, name, segments) if {
	list.secret_names[name]
} else if {
	parts := split(name, ".")
	list.secret_extensions[parts[count(parts) - 1]]
	count(parts) > 1
} else if {
	strings.any_prefix_match(name, list.secret_prefixes)
	not list.public_names[name]
} else if {
	some segment in segments
	list.secret_directories[segment]
} else if {
	count(segments) > 1
	list.secret_places[concat("/", array.slice(segments, count(segments) - 2, count(segments)))]
}

# No name of a secret is one that a pattern may stand for: its facts say so in regular expressions.
no_secret(list, pattern) if {
	regex.match(pattern.name, concat("\n", object.keys(list.secret_names))) == false
	regex.match(pattern.directory, concat("\n", object.keys(list.secret_directories))) == false
	regex.match(pattern.begins, concat("\n", list.secret_prefixes)) == false
	endings := [ending | some extension, _ in list.secret_extensions; ending := concat("", [".", extension])]
	regex.match(pattern.ends, concat("\n", endings)) == false
}

# A pattern by which files are chosen is named like a secret, or begins like one: `*.json` is about all files of a kind.
aims_at_secret(list, pattern) if {
	segments := split(lower(pattern.given), "/")
	secret(list, segments[count(segments) - 1], segments)
} else if {
	not broad(pattern)
	not no_secret(list, pattern)
}

broad(pattern) if pattern.broad == true

# What is never written, and what others act on: a name or a directory, in lower case.
guarded(name) if data.interlock.settings.file.protected_directories[name]

guarded(name) if data.interlock.settings.file.protected_names[name]

guarded(name) if steering(name)

# Build servers, editors and agents act on what these files say.
steering(name) if data.interlock.settings.file.steering_directories[name]

steering(name) if data.interlock.settings.file.steering_names[name]
