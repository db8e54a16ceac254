/// The exit codes of the program: the numbers and their meaning are those of `sysexits.h`.
///
/// When SIGINT or SIGTERM ends a replay early, the program prints what was done. At any other time, and a second time
/// (but for SIGTERM), a signal ends the program by that signal. Shells report that as 128 plus its number.
enum ExitCode: Int32 {
  /// Every check held.
  case ok = 0
  /// The command line names something that does not exist.
  case usage = 64
  /// An empty, cut or foreign log; a repository without commits.
  case dataError = 65
  /// No such file or repository, or it cannot be read.
  case noInput = 66
  /// Git is missing, or failed.
  case unavailable = 69
  /// A mode broke its promise, or git's figures differ.
  case software = 70
  /// No temporary file could be made, or not the file to follow.
  case cannotCreate = 73
  /// The temporary file could not be written or read back, or the file to follow not written.
  case ioError = 74
  /// SIGINT has ended a replay early.
  case interrupted = 130
  /// SIGTERM has ended a replay early.
  case terminated = 143
}
