/// An error in the command line.
public struct UsageError: Error, Equatable {
  /// The reason, in words that can stand after the program's name.
  public let message: String

  /// Makes an error.
  public init(_ message: String) {
    self.message = message
  }
}
