// The plugin documents the targets that a package depends on; this one has nothing of its own.
