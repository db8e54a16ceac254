/// The reason why the program stops: one line for standard error, and the code to exit with.
struct Failure: Error, Equatable {
  let code: ExitCode
  let message: String

  init(_ code: ExitCode, _ message: String) {
    self.code = code
    self.message = message
  }
}
