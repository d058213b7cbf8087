package interlock.rules.bash

# What the settings may say of the words of a routine command and of their order, beside what `working_as` looks at.
word_conditions := {
	"begins", "lead", "most_operands", "near", "nowhere", "options", "options_first", "other_than", "refspecs", "without",
}

worded(command, condition) if {
	count(object.keys(condition) & word_conditions) == 0
} else if {
	begins_like(command, condition)
	led_by(command, condition)
	count(own_operands(command, condition)) <= object.get(condition, "most_operands", count(command.operands))
	not far(command, condition)
	every option in options_of(command, object.get(condition, "options", null)) {
		one_of(option, condition.options)
	}
	not option_late(command, condition)
	every operand in command.operands {
		not operand in object.get(condition, "other_than", [])
	}
	from_a_remote(command, condition)
	every word in array.slice(command.argv, 1, count(command.argv)) {
		not one_of(word, object.get(condition, "without", []))
		not contains_any(word, object.get(condition, "nowhere", []))
	}
}

# The line begins with these words, with no option between them; `*` stands for any one word.
begins_like(command, condition) if {
	not condition.begins
} else if {
	some line in condition.begins
	every index, wanted in split(line, " ") {
		given := command.argv[index + 1]
		one_of(given, [wanted])
		not startswith(given, "-")
	}
}

# Before the first operand there are no options but these. An option with a value of its own is none of them.
led_by(command, condition) if {
	not condition.lead
} else if {
	words := array.slice(command.argv, words_of_name(command), count(command.argv))
	first := min([index | some index, word in words; not startswith(word, "-")])
	every word in array.slice(words, 0, first) {
		one_of(word, condition.lead)
	}
}

# The program, and its subcommand when that comes first.
words_of_name(command) := 2 if {
	is_string(command.subcommand)
	command.argv[1] == command.subcommand
} else := 1

option_late(command, condition) if {
	condition.options_first == true
	words := array.slice(command.argv, words_of_name(command), count(command.argv))
	some index, word in words
	startswith(word, "-")
	some earlier in array.slice(words, 0, index)
	not startswith(earlier, "-")
}

# Every word that begins with `-`, up to `--` when this is among those that may be given.
options_of(command, wanted) := [] if wanted == null

else := [word | some word in array.slice(command.argv, 1, ends(command, wanted)); startswith(word, "-")]

ends(command, free) := min([index | some index, word in command.argv; word == "--"]) if {
	"--" in free
	"--" in command.argv
} else := count(command.argv)

# Operands but for the values of the options that `values_of` names; with `--` in it, all that follows `--` is no operand.
own_operands(command, condition) := [word |
	some index, word in array.slice(command.argv, 0, ends(command, condition.values_of))
	index > 0
	not option_word(word)
	not value_at(command, index, condition.values_of)
] if {
	dashes_told(command, condition.values_of)
} else := command.operands

dashes_told(_, free) if "--" in free

dashes_told(command, _) if not dashed(command)

dashed(command) if "--" in command.argv

value_at(command, index, options) if command.argv[index - 1] in options

option_word(word) if {
	startswith(word, "-")
	word != "-"
}

# A word begins with the name of a host.
far(command, condition) if {
	near_wanted(command, condition.near)
	some word in array.slice(command.argv, 1, count(command.argv))
	regex.match(`^(-[^=]*=)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+[/:]`, word)
}

near_wanted(_, options) if "*" in options

near_wanted(command, options) if given_any(command, options)

# What has a colon is fetched from a remote by its name, which follows the subcommand: `host:path` is no such name.
from_a_remote(command, condition) if {
	not condition.refspecs
} else if {
	every operand in command.operands {
		not regex.match(`^[^/]*:`, operand)
	}
} else if {
	remote := command.argv[2]
	remote == command.operands[1]
	not contains(remote, ":")
}
