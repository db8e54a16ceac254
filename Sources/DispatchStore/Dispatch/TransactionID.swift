import Synchronization

/// The identity of a dispatched action or sequence: unique in the process, ascending on each thread.
///
/// Each thread reserves a block of identifiers at a time, so that making one writes no memory that
/// other threads write. The order of identifiers of different threads has no meaning.
public struct TransactionID: Hashable, Comparable, Sendable {
  let rawValue: UInt64

  private static let blockSize: UInt64 = 1_024
  private static let blockCount = Atomic<UInt64>(0)

  static func make(on thread: ThreadState) -> TransactionID {
    TransactionID(rawValue: thread.nextIdentifier { nextBlock(on: thread) })
  }

  private static func nextBlock(on thread: ThreadState) -> Range<UInt64> {
    if let world = thread.simulated?.world { return world.makeIdentifiers() }
    let block = blockCount.wrappingAdd(1, ordering: .relaxed).oldValue
    return (block * blockSize)..<((block + 1) * blockSize)
  }

  /// Orders identifiers; on one thread, by time.
  public static func < (lhs: TransactionID, rhs: TransactionID) -> Bool {
    lhs.rawValue < rhs.rawValue
  }
}

extension TransactionID: CustomStringConvertible {
  /// A short form for logs, such as `#1041`.
  public var description: String { "#\(rawValue)" }
}
