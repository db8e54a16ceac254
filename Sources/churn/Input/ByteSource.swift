/// Where the bytes of a log come from.
protocol ByteSource {
  /// What messages call it.
  var name: String { get }

  /// Reads what there is, up to the buffer's length.
  ///
  /// Zero means the end.
  func read(into buffer: inout [UInt8]) throws(Failure) -> Int

  /// After the end: whether it really was the end of all that there is.
  func checkCompleteness() throws(Failure)

  /// Called when no more is wanted, before the end.
  func stop()
}

extension ByteSource {
  func checkCompleteness() throws(Failure) {}
  func stop() {}
}
