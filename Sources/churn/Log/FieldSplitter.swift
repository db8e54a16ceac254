/// Cuts blocks of bytes into the fields of a log, each ended by a NUL, wherever the blocks end.
///
/// Holds the beginning of at most one field between two blocks.
struct FieldSplitter {
  /// Far longer than any path, name or record: a longer field means that the input is no log.
  static let longestField = 1 << 20

  private var begun: [UInt8] = []
  private var position = 0

  /// The byte offset in the log at which the field that has begun, or the next one, begins.
  var fieldOffset: Int { position }

  /// The field that has begun and not ended.
  var unfinished: [UInt8] { begun }

  /// Hands the fields that end in `block` to `machine`, in order.
  mutating func split(
    _ block: Span<UInt8>, into machine: inout some FieldConsumer
  ) throws(LogError) {
    var start = 0
    while let end = RecordSyntax.index(of: 0, in: block, from: start) {
      let piece = block.extracting(start..<end)
      let length = begun.count + piece.count
      if begun.isEmpty {
        try machine.take(piece, at: position)
      } else {
        append(piece)
        try machine.take(begun.span, at: position)
        begun.removeAll(keepingCapacity: true)
      }
      position += length + 1
      start = end + 1
    }
    append(block.extracting(start..<block.count))
    if begun.count > Self.longestField { throw .endlessField(at: position) }
  }

  private mutating func append(_ piece: Span<UInt8>) {
    piece.withUnsafeBufferPointer { begun.append(contentsOf: $0) }
  }
}

/// The consumer of a log's fields.
protocol FieldConsumer {
  mutating func take(_ field: Span<UInt8>, at offset: Int) throws(LogError)
}
