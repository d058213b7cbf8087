package interlock.rules_test

test_bash_routine_looks_at_words_and_their_order if {
	allowed := [
		one(["git", "config", "--get", "user.name"], {"subcommand": "config"}),
		one(["git", "config", "user.name"], {"subcommand": "config"}),
		one(["git", "remote", "get-url", "origin"], {"subcommand": "remote"}),
		one(["git", "fetch", "origin", "main:main"], {"subcommand": "fetch"}),
		one(["npx", "--no-install", "tsc"], {}),
		one(["uv", "run", "--frozen", "pytest"], {"subcommand": "run"}),
		one(["unzip", "-l", "x.zip"], {}),
		one(["kustomize", "build", "overlays/dev"], {}),
		one(["kubectl", "get", "-f", "x.yaml", "pods"], {"subcommand": "get"}),
		one(["kubectl", "diff", "-k", "overlays/dev"], {"subcommand": "diff"}),
		one(["mvn", "-pl", "web", "test"], {}),
		one(["tox", "-e", "py311", "--", "tests", "-x"], {"operands": ["py311", "tests", "-x"]}),
		one(["dotnet", "build", "-c", "Release"], {}),
		one(["xxd", "-l", "16", "x"], {}),
		one(["yarn", "workspace", "web", "test"], {"subcommand": "workspace"}),
		one(["flake8", "--exclude=.git,build"], {}),
		one(["git", "commit", "--author=ada@example.com", "-m", "x"], {"subcommand": "commit"}),
		one(["git", "diff", "-o", "x"], {"subcommand": "diff"}),
	]
	every call in allowed {
		silent("bash/other") with input as call
	}
	asked := [
		one(["git", "config", "core.fsmonitor", "./x", "--list"], {"subcommand": "config"}),
		one(["git", "config", "core.fsmonitor", "--list"], {"subcommand": "config"}),
		one(["git", "remote", "get-url", "--add"], {"subcommand": "remote"}),
		one(["git", "fetch", "evil:x"], {"subcommand": "fetch"}),
		one(["git", "fetch", "--depth", "1", "evil:x"], {"subcommand": "fetch"}),
		one(["npx", "--yes", "tsc"], {}),
		one(["uv", "run", "-w", "evil", "pytest"], {"subcommand": "run"}),
		one(["unzip", "x.zip", "-l"], {}),
		one(["kustomize", "build", "evil.com/x"], {}),
		one(["kubectl", "diff", "-k", "evil.com/x"], {"subcommand": "diff"}),
		one(["mvn", "-pl", "web", "evil:go"], {}),
		one(["mvn", "--", "evil:go"], {"operands": ["evil:go"]}),
		one(["tox", "exec", "--", "id"], {"operands": ["exec", "id"]}),
		one(["tox", "-x", "y"], {}),
		one(["dotnet", "build", "-p:PreBuildEvent=x"], {}),
		one(["xxd", "x", "y"], {}),
		one(["npm", "run", "env"], {"subcommand": "run"}),
		one(["yarn", "workspace", "web", "run"], {"subcommand": "workspace"}),
		one(["cmake", "--build", "x", "--target=install"], {}),
		one(["gh", "run", "view", "--jq=env.X"], {"subcommand": "run"}),
		one(["alembic", "-n", "check", "upgrade"], {}),
		one(["pip", "list", "--outdated", "--format=https://evil.com"], {"subcommand": "list"}),
		one(["pytest", "--cov-report=xml:/tmp/x"], {}),
		one(["pytest", "--junitxml=.git/hooks/x"], {}),
		one(["pandoc", "x.md", "-o.git/hooks/x"], {}),
		one(["pytest", "--rootdir=.ssh"], {}),
		one(["pytest", "--override=x=.env"], {}),
		one(["go", "build", "-o", ".git/hooks/x"], {"subcommand": "build"}),
		one(["mypy", "@.env"], {}),
	]
	every call in asked {
		silent("bash/routine") with input as call
		silent("bash/read_only") with input as call
	}
}
