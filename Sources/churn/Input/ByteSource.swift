/// Where the bytes of a log come from.
protocol ByteSource {
  /// Its name in messages.
  var name: String { get }

  /// Reads what there is, up to the buffer's length.
  ///
  /// Zero means the end.
  func read(into buffer: inout [UInt8]) throws(Failure) -> Int

  /// Waits until there is something to read, or the end; false where the deadline passes before.
  func isReadable(before deadline: Deadline) throws(Failure) -> Bool

  /// Called after the end; throws where the source ended early.
  func checkCompleteness() throws(Failure)

  /// Called before the end, when no more is to be read.
  func stop()

  /// Whether its bytes are those of this file.
  func reads(_ file: Descriptor) -> Bool
}

extension ByteSource {
  func isReadable(before deadline: Deadline) throws(Failure) -> Bool { true }
  func checkCompleteness() throws(Failure) {}
  func stop() {}
  func reads(_ file: Descriptor) -> Bool { false }
}
