@testable import churn

/// A source of given bytes, a few at a time, that can fail at its end.
final class BytesSource: ByteSource {
  let name = "the source"
  private(set) var wasStopped = false
  private var rest: ArraySlice<UInt8>
  private let blockLength: Int
  private let failure: Failure?

  init(_ bytes: [UInt8], blockLength: Int = .max, failure: Failure? = nil) {
    rest = bytes[...]
    self.blockLength = blockLength
    self.failure = failure
  }

  func read(into buffer: inout [UInt8]) -> Int {
    let block = rest.prefix(min(buffer.count, blockLength))
    buffer.replaceSubrange(..<block.count, with: block)
    rest = rest.dropFirst(block.count)
    return block.count
  }

  func checkCompleteness() throws(Failure) {
    if let failure { throw failure }
  }

  func stop() { wasStopped = true }
}
