import Foundation
import Synchronization

/// The identity of a dispatched action or sequence: unique among all processes, ascending on each thread.
///
/// An identifier consists of the `epoch` of its process and a `number` in it. Each thread reserves a block of numbers
/// at a time. So making one is no system call and writes no memory that other threads write. The order of numbers of
/// different threads has no meaning.
public struct DispatchID: Hashable, Comparable, Sendable {
  /// The number; its highest bit marks the identifiers of a simulation.
  let rawValue: UInt64

  private static let simulated: UInt64 = 1 << 63
  private static let blockSize: UInt64 = 1_024
  private static let blockCount = Atomic<UInt64>(0)

  /// The time of the process's first number, in milliseconds since 1970, and 22 random bits; zero in simulations.
  ///
  /// Later processes have higher epochs, as far as their machines' clocks agree.
  public var epoch: UInt64 { rawValue & Self.simulated == 0 ? Self.processEpoch : 0 }

  /// The number in the process, or in the simulated world.
  public var number: UInt64 { rawValue & ~Self.simulated }

  private static let processEpoch: UInt64 = {
    let milliseconds = UInt64(max(0, Date().timeIntervalSince1970 * 1_000))
    return milliseconds << 22 | UInt64.random(in: 0..<1 << 22)
  }()

  static func make(on thread: ThreadState) -> DispatchID {
    DispatchID(rawValue: thread.nextIdentifier { nextBlock(on: thread) })
  }

  private static func nextBlock(on thread: ThreadState) -> Range<UInt64> {
    if let world = thread.simulated?.world {
      let block = world.makeIdentifiers()
      return (block.lowerBound | simulated)..<(block.upperBound | simulated)
    }
    _ = processEpoch
    let block = blockCount.wrappingAdd(1, ordering: .relaxed).oldValue
    return (block * blockSize)..<((block + 1) * blockSize)
  }

  /// Orders identifiers by number; on one thread, by time.
  public static func < (lhs: DispatchID, rhs: DispatchID) -> Bool {
    lhs.rawValue < rhs.rawValue
  }
}

extension DispatchID: CustomStringConvertible {
  /// A short form for logs, such as `1k5v0q8m3t7ab#1041`: the epoch to the base of 36, and the number.
  ///
  /// In simulations the number alone, such as `#7`.
  public var description: String {
    (epoch == 0 ? "" : String(epoch, radix: 36)) + "#\(number)"
  }
}
