package interlock.rules

default tool_name := "the tool"

tool_name := input.tool.name

# Its definition is declared and is the one that an operator accepted.
declared if {
	input.tool.declared == true
	input.tool.pin_state == "pinned"
	input.tool.effect in {"read_only", "mutating", "destructive"}
}

# Of calls of these classes nothing is known that says otherwise than their tool.
read_only if {
	input.tool.effect == "read_only"
	input.tool.metadata.permission_class in {"", "file", "bash"}
	input.call.facts.class in {"", "file", "bash"}
	usually_declared
} else if {
	input.tool.effect == "read_only"
	declared
	not contradicted
} else if {
	reading_statements
}

# What is known about the call says otherwise than its tool does, or does not say it.
contradicted if {
	of_class("sql")
	not data.interlock.rules.sql.reads_only
}

contradicted if {
	of_class("webfetch")
	not data.interlock.rules.webfetch.only_asks
}

# Whatever its tool could do, this call only reads.
reading_statements if {
	input.tool.metadata.permission_class == "sql"
	data.interlock.rules.sql.reads_only
	declared
}

previewable if input.tool.safety_level == 2

reversible if input.tool.safety_level == 1

# It neither reaches people nor systems outside.
contained if input.tool.external_effect == false

# The rules of its permission class decide about its calls, in place of the general ones.
owned if {
	not classless
	input.tool.metadata.permission_class in data.interlock.settings.generic.owned_classes
} else if {
	input.tool.metadata.permission_class == "sql"
	reading_statements
}

# What is asked for has been asked, or is asked by the gateway itself: applying a preview, undoing an operation.
resuming if input.call.kind in {"apply", "undo"}

# The gateway takes an operation back, with what its provider recorded when it was done (UNDO-5).
undoing if input.call.kind == "undo"

applying if {
	input.call.phase == "apply"
	input.call.kind == "apply"
}
