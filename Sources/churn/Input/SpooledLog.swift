/// A complete log in a temporary file, so that every mode replays the same bytes.
final class SpooledLog: Sendable {
  static let blockLength = 1 << 18

  let summary: LogSummary
  private let file: Descriptor
  private let length: Int
  private let limit: Int?

  init(file: Descriptor, length: Int, limit: Int?, summary: LogSummary) {
    self.file = file
    self.length = length
    self.limit = limit
    self.summary = summary
  }

  /// Parses the log once more, block by block.
  func forEachCommit(_ body: (LoggedCommit) throws -> Void) throws {
    var parser = LogParser(limit: limit)
    var buffer = [UInt8](repeating: 0, count: Self.blockLength)
    var offset = 0
    while offset < length, !parser.hasReachedLimit {
      let count = try read(into: &buffer, at: offset)
      offset += count
      try parser.parse(buffer.span.extracting(0..<count)).forEach(body)
    }
    try parser.finish().forEach(body)
  }

  private func read(into buffer: inout [UInt8], at offset: Int) throws(Failure) -> Int {
    let count: Int
    do {
      count = try file.read(into: &buffer, at: offset)
    } catch {
      throw Failure(.ioError, "cannot read the temporary file: \(error)")
    }
    guard count > 0 else { throw Failure(.ioError, "the temporary file has become shorter") }
    return min(count, length - offset)
  }
}
