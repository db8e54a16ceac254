/// The exit codes of the program: the numbers and their meaning are those of `sysexits.h`.
///
/// | code | name | when |
/// |---|---|---|
/// | 0 | ok | every check held |
/// | 64 | usage | the command line names something that does not exist |
/// | 65 | dataError | an empty, cut or foreign log; a repository without commits |
/// | 66 | noInput | no such file or repository, or it cannot be read |
/// | 69 | unavailable | git is missing, or failed |
/// | 70 | software | a mode broke its promise, or git's figures differ |
/// | 73 | cannotCreate | no temporary file could be made, or not the file to follow |
/// | 74 | ioError | the temporary file could not be written or read back, or the file to follow not written |
/// | 75 | temporaryFailure | the deadline has passed |
/// | 130, 143 | interrupted, terminated | SIGINT or SIGTERM has ended a replay early, and what was done is printed |
///
/// At any other time, and a second time (but for SIGTERM), a signal ends the program by that signal. Shells report
/// that as 128 plus its number.
enum ExitCode: Int32 {
  case ok = 0
  case usage = 64
  case dataError = 65
  case noInput = 66
  case unavailable = 69
  case software = 70
  case cannotCreate = 73
  case ioError = 74
  case temporaryFailure = 75
  case interrupted = 130
  case terminated = 143
}
