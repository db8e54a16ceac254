/// A source of the bytes of a log.
protocol ByteSource {
  /// The name in messages.
  var name: String { get }

  /// Reads the available bytes, up to the buffer's length.
  ///
  /// Zero means the end.
  func read(into buffer: inout [UInt8]) throws(Failure) -> Int

  /// Called after the end; throws if the source ended early.
  func checkCompleteness() throws(Failure)

  /// Called before the end, when no more is to be read.
  func stop()

  /// Whether the source reads this file.
  func reads(_ file: Descriptor) -> Bool
}

extension ByteSource {
  func checkCompleteness() throws(Failure) {}
  func stop() {}
  func reads(_ file: Descriptor) -> Bool { false }
}
