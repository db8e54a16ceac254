import Testing

extension ExitTest.Result? {
  /// What the program that was stopped has written to standard error.
  var message: String { String(decoding: self?.standardErrorContent ?? [], as: UTF8.self) }
}
