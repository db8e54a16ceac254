/// What was wrong with a file.
struct PageError: Error {
  let message: String

  init(_ message: String) {
    self.message = message
  }
}
