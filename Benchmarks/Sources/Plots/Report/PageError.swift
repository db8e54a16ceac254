/// An error with a file of the page.
struct PageError: Error {
  let message: String

  init(_ message: String) {
    self.message = message
  }
}
