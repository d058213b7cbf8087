package interlock.rules.webfetch

# METADATA
# title: Requests that send something
# description: |
#   A tool that says it only reads is taken at its word for requests that ask for a page. For one with a body, or with a
#   method that changes something, a person decides.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": "checkpoint",
	"code": "request_sends",
	"message": sprintf("%s sends something, although it says that it only reads", [data.interlock.rules.tool_name]),
	"rule": "webfetch/sends",
} if {
	input.tool.effect == "read_only"
	not only_asks
}
