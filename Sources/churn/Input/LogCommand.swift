/// The command that prints a history in the format of a log.
enum LogCommand {
  /// Git's arguments for the history that leads to `commit`.
  static func arguments(for commit: String) -> [String] {
    [
      "-c", "core.quotePath=false", "log", "--reverse", "--first-parent",
      "--diff-merges=first-parent", "--root", "--raw", "--numstat", "-z", "--no-renames",
      "--no-ext-diff", "--no-textconv", "--abbrev=7",
      "--format=%x00%x01%H%x00%aN <%aE>%x00%ct", commit,
    ]
  }

  /// The command as it is typed into a shell.
  static var shellLine: String {
    let words = arguments(for: "HEAD").map { $0.contains(" ") ? "'\($0)'" : $0 }
    return (["git"] + words).joined(separator: " ")
  }
}
